BEGIN;

-- The outcome that eight given bytes stand for: for tests. "@NAME@" is what a query calls.
CREATE FUNCTION "@NAME@_from"("word" pg_catalog.bytea, @ARGUMENTS@) RETURNS @RETURNS@
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $leakwise$
DECLARE
  u bigint;
  stratum bigint := 0;
  mechanism integer;
  place integer;
  first integer;
  final integer;
BEGIN
  IF $1 IS NULL OR octet_length($1) <> 8 THEN
    RAISE EXCEPTION 'leakwise: word must be eight bytes';
  END IF;
  -- The first byte is the lowest. The highest bit is turned over: so signed numbers are in the order of the words.
  u := (get_byte($1, 0)::bigint | (get_byte($1, 1)::bigint << 8) | (get_byte($1, 2)::bigint << 16)
    | (get_byte($1, 3)::bigint << 24) | (get_byte($1, 4)::bigint << 32) | (get_byte($1, 5)::bigint << 40)
    | (get_byte($1, 6)::bigint << 48) | (get_byte($1, 7)::bigint << 56)) # (-9223372036854775808)::bigint;
@STRATUM@  mechanism := coalesce((@MECHANISMS@)[array_position(@STRATA@, stratum)], @OTHERWISE@);
  place := @PLACE@;
  -- What is refused may be the truth, and errors are written to logs: no message has a value in it.
  IF mechanism IS NULL THEN
    RAISE EXCEPTION 'leakwise: there is no mechanism for these given values';
  ELSIF place IS NULL THEN
    RAISE EXCEPTION 'leakwise: value is not in the domain';
  ELSIF stratum * @VALUES@ + place = ANY (@NEVER@) THEN
    RAISE EXCEPTION 'leakwise: value cannot occur with these given values';
  END IF;
  place := mechanism * @VALUES@ + place;
  first := (@FIRSTS@)[place];
  final := (@FIRSTS@)[place + 1] - 1;
  RETURN (@OUTCOMES@)[(@OUTCOME_PLACES@)[first - 1 + width_bucket(u, (@STARTS@)[first:final])]];
END
$leakwise$;

-- The draw itself. VOLATILE: evaluated for each row, never computed ahead. PARALLEL SAFE: every process of the server
-- has secure randomness of its own.
DO $leakwise$
DECLARE
  here name := pg_catalog.current_schema();
  home name;
BEGIN
  SELECT n.nspname INTO home FROM pg_catalog.pg_extension e
    JOIN pg_catalog.pg_depend d ON d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid
      AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass AND d.deptype = 'e'
    JOIN pg_catalog.pg_proc p ON p.oid = d.objid AND p.proname = 'gen_random_bytes' AND p.pronargs = 1
    JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    WHERE e.extname = 'pgcrypto';
  IF home IS NULL THEN
    RAISE EXCEPTION 'leakwise: gen_random_bytes of pgcrypto is not here, and random() is not secure'
      USING HINT = 'CREATE EXTENSION pgcrypto; then run this file again. Nothing was created.';
  END IF;
  EXECUTE pg_catalog.format('CREATE FUNCTION %I."@NAME@"(@ARGUMENTS@) RETURNS @RETURNS@ '
    'LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS %L', here, pg_catalog.format(
    'BEGIN RETURN %I."@NAME@_from"(%I.gen_random_bytes(8), @PARAMETERS@); END', here, home));
END
$leakwise$;

-- Only the owner may draw. Functions in a view are called by who reads it: readers without the right cannot use one.
REVOKE ALL ON FUNCTION "@NAME@"(@TYPES@), "@NAME@_from"(pg_catalog.bytea, @TYPES@) FROM PUBLIC;

COMMENT ON FUNCTION "@NAME@"(@TYPES@) IS @COMMENT@;

COMMIT;
