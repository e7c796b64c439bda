"""Tables by strata: rows released, estimated from and audited by what their given columns say."""
