"""The studio: a local page on which a person explores a secret (extra ``studio``).

- :mod:`leakwise.studio.state` is what the page sends, typed;
- :mod:`leakwise.studio.reading` turns it into priors, utilities and mechanisms;
- :mod:`leakwise.studio.answers` and :mod:`leakwise.studio.curves` work it out, in a worker process;
- :mod:`leakwise.studio.pool` keeps those processes, :mod:`leakwise.studio.security` the border of the page;
- :mod:`leakwise.studio.app` is the web application, :mod:`leakwise.studio.server` starts it.

Nothing here is loaded by ``import leakwise``.
"""
