"""What a rule author is told: one error of each kind, with its place and hint."""

import pytest

from bpc_worker.core.rules.source import Limits, render
from tests.unit.core.rules.support import error_in, marked

PARSE, TYPE, LIMIT = "RULE_PARSE_ERROR", "RULE_TYPE_ERROR", "RULE_LIMIT_EXCEEDED"
SPLIT = "split the rule text, or raise the limit in the configuration"
OPEN = "open it first: requireSome(…), or unwrapOr(…, default)"
FACT = "a value from a fact gets its type by toDec, toQty, toInt, toText, toDate, toBool or toList"
UNITS = (
    "known are kg, g, mg, t, kWh, Wh, Ah, V, W, Ohm, degC, h, min, month, year, cycles, each, pct, gCO2e, kgCO2e, "
    "tCO2e, gCO2e_per_kWh, kgCO2e_per_kWh, pct_per_month, W_per_Wh, per_year"
)
EXAMPLE = 'field a: Int = 1; example e: {} => '
PROPERTY = "field a: Int = 1; property p: "

WORDS = [
    ('field a: Text = «"abc', PARSE, "this text does not end on its line", 'close it with "'),
    ('field a: Text = «"ab\nc";', PARSE, "this text does not end on its line", 'close it with "'),
    ('field a: Text = "a«\\qb";', PARSE, "unknown escape '\\q'", 'known are \\" \\\\ \\n \\t'),
    ("field a: Bool = true «& false;", PARSE, "unexpected character '&'", "write &&"),
    ("field a: Bool = true «| false;", PARSE, "unexpected character '|'", "write ||"),
    ("field a: Int = 7 «% 2;", PARSE, "unexpected character '%'", "percent(part, whole) gives a share"),
    ("field a: Text = «'x';", PARSE, "unexpected character '''", 'texts stand in double quotes: "…"'),
    ("«\ufefffield a: Int = 1;", PARSE, "unexpected character '\ufffd'", "save the file without a byte order mark"),
    ("field a: Int = «?;", PARSE, "unexpected character '?'", None),
    ('field a: Text = "«\x00";', PARSE, "the character U+0000 cannot stand in a rule text", None),
    ("field a: Int = 1; -- «\ud800", PARSE, "the character U+D800 cannot stand in a rule text", None),
    ("field a: Int = 1; -- «\u202e", PARSE, "the character U+202E cannot stand in a rule text", None),
]
FIELDS = [
    ("«1", PARSE, "expected 'field', 'table', 'example' or 'property', found '1'", None),
    ("field «= 1;", PARSE, "expected the path of a field, found '='", None),
    ("field a.«1: Int = 1;", PARSE, "expected a name after '.', found '1'", None),
    ("field a «= 1;", PARSE, "expected ':', found '='", "a field has a type: field path: Type = expression;"),
    ("field a: «1 = 1;", PARSE, "expected a type, found '1'", None),
    ("field a: «Intt = 1;", PARSE, "unknown type 'Intt'", "did you mean Int?"),
    (
        "field a: «Number = 1;",
        PARSE,
        "unknown type 'Number'",
        "known are Bool, Int, Text, Date, Dec, Qty, Opt, List, Map, Record",
    ),
    ("field a: Dec(«x) = 1;", PARSE, "expected a scale (how many digits after the point), found 'x'", None),
    ("field a: Qty(«1) = 1;", PARSE, "expected a unit, found '1'", None),
    ("field a: Qty(«kWhh) = 1;", TYPE, "unknown unit 'kWhh'", "did you mean kWh?"),
    ("field a: Qty(«kwh) = 1;", TYPE, "unknown unit 'kwh'", "did you mean kWh?"),
    ("field a: Qty(«furlong) = 1;", TYPE, "unknown unit 'furlong'", UNITS.replace(",", "")),
    ("field a: Opt(«Opt(Int)) = 1;", TYPE, "an Opt of an Opt", "one Opt is enough"),
    ("field a: Map(«Int, Int) = 1;", PARSE, "expected 'Text', found 'Int'", "the keys of a Map are Text"),
    ("field a: Record(b: Int, «b: Int) = 1;", TYPE, "two members 'b'", None),
    ("field a: Int for «everybody = 1;", PARSE, "unknown audience 'everybody'",
     "known are public, legitimate_interest, authorities, commission"),
    ("field a: Int for «comission = 1;", PARSE, "unknown audience 'comission'", "did you mean commission?"),
    ("field a: Int«, b = 1;", PARSE, "expected '=', found ','", None),
    ("field a: Int = 1«", PARSE, "expected ';', found the end of the text", "a field ends with ';'"),
    ("field a: Int = 1; field «a: Int = 2;", TYPE, "two fields 'a'", "rename one of them"),
    ("field a: Int = 1; field «a.b: Int = 2;", TYPE, "'a.b' lies inside the field 'a'", "rename one of them"),
    ('field «a: Int = field("b"); field b: Int = field("a");', "RULE_CYCLE_DETECTED",
     "fields need each other: a -> b -> a", "one of them must not use the others"),
    ('field «a: Int = field("a");', "RULE_CYCLE_DETECTED", "fields need each other: a -> a",
     "one of them must not use the others"),
]  # fmt: skip
TABLES = [
    ('table t «= {"a": 1};', PARSE, "expected ':', found '='",
     'a table has the type of its rows: table name: Int = {"key": 1};'),
    ('table t: Int = {«a: 1};', PARSE, "expected a key in quotes, found 'a'", None),
    ('table t: Int = {"a": 1, «"a": 2};', PARSE, "two values for 'a'", None),
    ('table t: Int = {«"\U0001f50b": 1};', PARSE, "a key with a character above U+FFFF", None),
    ('table t: Int = {"a": 1}«', PARSE, "expected ';', found the end of the text", "a table ends with ';'"),
    ('table t: Int = {"a": «"b"};', TYPE, "a row of this table is Int, but this is Text", None),
    ('table t: Int = {"a": «1 + 1};', TYPE, "a table holds plain values", "compute in a field, not in a table"),
    ('table t: Int = {}; table «t: Int = {};', TYPE, "two tables 't'", "rename one of them"),
    ('table «let: Int = {};', PARSE, "'let' is a word of the language and cannot stand here",
     "put it in parentheses: (let …)"),
]  # fmt: skip
EXPRESSIONS = [
    ("field a: Int = «;", PARSE, "expected an expression, found ';'", None),
    ("field a: Int = (1«;", PARSE, "expected ')', found ';'", None),
    ("field a: Bool = if (1 «= 1) then true else false;", PARSE, "expected ')', found '='", "to compare, write =="),
    ("field a: Int = if «true then 1 else 2;", PARSE, "expected '(', found 'true'",
     "the condition stands in parentheses: if (c) then a else b"),
    ("field a: Int = if (true) then 1«;", PARSE, "expected 'else', found ';'", "an 'if' always has an 'else'"),
    ("field a: Bool = 1 < 2 «< 3;", PARSE, "comparisons cannot be chained", "join two of them with &&"),
    ("field a: Int = 1 + «if (true) then 1 else 2;", PARSE,
     "'if' is a word of the language and cannot stand here", "put it in parentheses: (if …)"),
    ("field a: Int = «then;", PARSE, "'then' is a word of the language and cannot stand here", None),
    ("field a: Int = «for(1);", PARSE, "'for' is a word of the language and cannot stand here", None),
    ("field a: Int = let «1 = 2; 3;", PARSE, "expected a name, found '1'", None),
    ("field a: Int = let x = 1«", PARSE, "expected ';', found the end of the text",
     "after 'let' come ';' and the expression it belongs to"),
    ('field a: Int = assert(true«); 1;', PARSE, "expected ',', found ')'",
     'write assert(condition, "CODE", "message")'),
    ('field a: Int = assert(true, "A"«); 1;', PARSE, "expected ',', found ')'",
     'write assert(condition, "CODE", "message")'),
    ("field a: Int = cite(«1); 1;", PARSE, "expected what is cited, in quotes, found '1'", None),
    ('field a: Date = date(«"2027-2-18");', PARSE, "'2027-2-18' is not a date", 'write it as "2027-02-18"'),
    ('field a: Date = date(«"20270218");', PARSE, "'20270218' is not a date", 'write it as "2027-02-18"'),
    ("field a: Date = date(«1);", PARSE, "expected a date such as \"2027-02-18\", found '1'", None),
    ("field a: Qty(kg) = qty«;", PARSE, "expected '(', found ';'", "write qty(1.5, kg)"),
    ("field a: Qty(kg) = qty(«kg, 1);", PARSE, "expected a number, found 'kg'", None),
    ("field a: Qty(kg) = qty(1«);", PARSE, "expected ',', found ')'", "write qty(1.5, kg)"),
    ("field a: Int = let r = record(«1); 1;", PARSE, "expected the name of a member, found '1'", None),
    ("field a: Int = let r = record(b «1); 1;", PARSE, "expected ':', found '1'", "write record(name: value, …)"),
    ("field a: Int = let r = record(b: 1, «b: 2); 1;", PARSE, "two members 'b'", None),
    ("field a: Int = count(map(l, (x) «=> x));", PARSE, "expected ')', found '=>'",
     "a lambda is written x => … or (acc, x) => …"),
    ("field a: Int = count(map(l, «let => 1));", PARSE, "'let' is a word of the language and cannot stand here",
     "put it in parentheses: (let …)"),
]  # fmt: skip
NAMES = [
    ("field a: Int = «x;", TYPE, "unknown name 'x'", "introduce it with 'let', or write field(\"…\") for a field"),
    ("field a: Int = let years = 1; «yaers;", TYPE, "unknown name 'yaers'", "did you mean years?"),
    ('table limits: Int = {"a": 1}; field a: Opt(Int) = lookup(«limit, "a");', TYPE, "unknown name 'limit'",
     "did you mean limits?"),
    ("field a: Int = «foo(1);", TYPE, "unknown function 'foo'", "docs/rules.md lists them"),
    ("field a: Int = «isSom(1);", TYPE, "unknown function 'isSom'", "did you mean isSome?"),
    ("field a: Bool = «implies(true, false);", TYPE, "unknown function 'implies'", "did you mean implies?"),
    ('field abc.def: Int = 1; field a: Int = field(«"abc.dfe");', TYPE, "unknown field 'abc.dfe'",
     "did you mean abc.def?"),
    ('field a: Int = field(«"zzz");', TYPE, "unknown field 'zzz'", None),
]  # fmt: skip
OPERATORS = [
    ("field a: Dec(2) = 1.50 «+ 1;", TYPE, "'+' does not fit Dec(2) and Int",
     "bring both to one scale: toDec(2, …) or round(half_even, 2, …)"),
    ("field a: Bool = 1/3 «> 0;", TYPE, "'>' does not fit Num and Int",
     "bring both to one scale: toDec(scale, …) or round(half_even, scale, …)"),
    ("field a: Qty(kg) = qty(1, kg) «+ qty(1, g);", "UNIT_MISMATCH", "'+' does not fit Qty(kg) and Qty(g)",
     "convert(kg, …) brings both to one unit"),
    ("field a: Bool = qty(1, kg) «== qty(1, V);", "UNIT_MISMATCH", "'==' does not fit Qty(kg) and Qty(V)",
     "they measure different things"),
    ("field a: Qty(kg) = qty(1, kg) «* qty(1, kg);", "UNIT_MISMATCH", "'*' does not fit Qty(kg) and Qty(kg)",
     "docs/rules.md lists which units can be multiplied and divided"),
    ("field a: Qty(kg) = qty(1, kg) «+ 1;", TYPE, "'+' does not fit Qty(kg) and Int",
     "give the number a unit: qty(…, kg) or toQty(kg, …)"),
    ('field a: Bool = getFact("a", "b") «== none;', TYPE, "'==' does not fit Opt(Fact) and none",
     "isSome(…) tells whether a value is there"),
    ('field a: Bool = recordGet(requireSome(getFact("a", "b")), "c") «== 1;', TYPE,
     "'==' does not fit Opt(Json) and Int", OPEN),
    ('field a: Bool = requireSome(recordGet(requireSome(getFact("a", "b")), "c")) «== 1;', TYPE,
     "'==' does not fit Json and Int", FACT),
    ("field a: Bool = true «< false;", TYPE, "'<' does not fit Bool and Bool", None),
    ("field a: Bool = «!1;", TYPE, "'!' needs a Bool, not Int", None),
    ("field a: Int = «-true;", TYPE, "'-' needs a number, not Bool", None),
    ("field a: Bool = true && «1;", TYPE, "'&&' needs a Bool, not Int", None),
    ("field a: Bool = «1 || true;", TYPE, "'||' needs a Bool, not Int", None),
    ("field a: Dec(30) = 0.1234567890123456789 «* 0.1234567890123456789;", LIMIT,
     "too many digits after the point (the limit is 30)", "round(half_even, scale, …) shortens a number"),
]  # fmt: skip
FITTING = [
    ("field a: Int = «true;", TYPE, "the field is Int, but this is Bool", None),
    ("field a: Dec(2) = «5;", TYPE, "the field is Dec(2), but this is Int", "toDec(2, …)"),
    ("field a: Qty(kg) = «5;", TYPE, "the field is Qty(kg), but this is Int", "toQty(kg, …)"),
    ("field a: Qty(kg) = «qty(5, g);", TYPE, "the field is Qty(kg), but this is Qty(g)", "convert(kg, …)"),
    ('field a: Int = «recordGet(requireSome(getFact("a", "b")), "c");', TYPE,
     "the field is Int, but this is Opt(Json)", OPEN),
    ("field a: Int = if (true) then 1 else «none;", TYPE, "the field is Int, but this is none", None),
    ("field a: Int = if («1) then 1 else 2;", TYPE, "the condition of an 'if' is Bool, but this is Int", None),
    ("field a: Int = let x = if (true) then 1 else «true; x;", TYPE, "the branches differ: Int and Bool",
     "both must have one type"),
    ("field a: Qty(kg) = let x = if (true) then qty(1, kg) else «1; x;", TYPE,
     "the branches differ: Qty(kg) and Int", "toQty(kg, …)"),
    ('field a: Int = assert(«1, "A", "b"); 1;', TYPE, "the condition of an 'assert' is Bool, but this is Int", None),
    ('field a: Int = let x = «withheld("r"); 1;', TYPE, "only the result of a field can be empty",
     "as the field's whole expression, or as a branch of its 'if'"),
    ('field a: Int = «missing();', TYPE, "missing takes 1 argument, not 0", None),
    ('field a: Int = missing(«"  ");', TYPE, "a field without a value has a reason", None),
    ("field a: Record(b: Int) = «record(c: 1);", TYPE,
     "the field is Record(b: Int), but this is Record(c: Int)", None),
    ("field a: Record(b: Int) = «record(b: true);", TYPE,
     "the field is Record(b: Int), but this is Record(b: Bool)", None),
    ('field a: Int = let r = record(b: «getFactsByPrefix("a", "b")); 1;', TYPE,
     "a record cannot hold List(Fact)", "a List is a field of its own; of a fact, take the values"),
]  # fmt: skip
CALLS = [
    ("field a: Bool = «isSome();", TYPE, "isSome takes 1 argument, not 0", None),
    ("field a: Date = «lawDate(1);", TYPE, "lawDate takes no arguments, not 1", None),
    ("field a: Int = «requireSome();", TYPE, "requireSome takes 1 or 2 arguments, not 0", None),
    ("field a: Bool = isSome(«1);", TYPE, "isSome wants an Opt here, not Int", "this value is always there"),
    ("field a: Bool = isSome(«none);", TYPE, "isSome wants an Opt here, not none", None),
    ("field a: Bool = isSome(«x => 1);", TYPE, "isSome takes no lambda here", None),
    ('field a: Int = unwrapOr(if (true) then 1 else none, «"x");', TYPE, "unwrapOr wants Int here, not Text", None),
    ("field a: Int = requireSome(if (true) then 1 else none, «1);", TYPE,
     "requireSome wants a message in quotes here", None),
    ("field a: Int = field(«a);", TYPE, "field wants the path of a field in quotes here", None),
    ("field a: Bool = isSome(getFact(«1, \"b\"));", TYPE, "getFact wants Text here, not Int", None),
    ('field a: Int = recordGet(«1, "b");', TYPE, "recordGet wants a fact, a JSON object or a Record here, not Int",
     None),
    ('field a: Int = recordGet(«getFact("a", "b"), "b");', TYPE,
     "recordGet wants a fact, a JSON object or a Record here, not Opt(Fact)", OPEN),
    ('field a: Int = recordGet(record(bcd: 1), «"bdc");', TYPE, "the record has no member 'bdc'",
     "did you mean bcd?"),
    ('field a: Int = recordGet(record(bcd: 1, e: 1), «"xyz");', TYPE, "the record has no member 'xyz'",
     "it has bcd, e"),
    ('field a: Int = recordGet(record(), «"x");', TYPE, "the record has no member 'x'", "it has none"),
    ('field a: Int = lookup(«1, "b");', TYPE, "lookup wants a table here, not Int", None),
    ("field a: Dec(1) = toDec(«x, 1);", TYPE, "toDec wants a scale here, a whole number", None),
    ("field a: Dec(1) = toDec(«true, 1);", TYPE, "toDec wants a scale here, a whole number", None),
    ("field a: Dec(1) = toDec(«31, 1);", LIMIT, "too many digits after the point (the limit is 30)",
     "round(half_even, scale, …) shortens a number"),
    ("field a: Dec(1) = toDec(1, «true);", TYPE,
     "toDec wants a number, a Text or a value from a fact here, not Bool", None),
    ("field a: Qty(kg) = toQty(kg, «qty(1, g));", TYPE,
     "toQty wants a number, a Text or a value from a fact here, not Qty(g)",
     "convert(unit, …) changes a unit; divided by qty(1, unit), it is a number"),
    ("field a: Qty(kg) = toQty(«kgs, 1);", TYPE, "toQty wants a unit here, not 'kgs'", "did you mean kg?"),
    ('field a: Qty(kg) = toQty(«"kg", 1);', TYPE, "toQty wants a unit here", UNITS),
    ("field a: Int = toInt(«1);", TYPE, "toInt wants Json here, not Int", None),
    ("field a: Qty(kg) = convert(kg, «1);", TYPE, "convert wants a quantity here, not Int", None),
    ("field a: Qty(kg) = «convert(kg, qty(1, V));", "UNIT_MISMATCH", "V cannot be converted to kg",
     "they measure different things"),
    ("field a: Dec(1) = round(«half_evn, 1, 1.0);", TYPE, "round wants a rounding mode here, not 'half_evn'",
     "did you mean half_even?"),
    ("field a: Dec(1) = round(half_even, 1, «true);", TYPE, "round wants a number or a quantity here, not Bool", None),
    ("field a: Qty(pct) = percent(1, «true);", TYPE, "percent wants a number or a quantity here, not Bool", None),
    ("field a: Qty(pct) = «percent(qty(1, kg), qty(1, g));", "UNIT_MISMATCH", "a share of Qty(kg) in Qty(g)",
     "both need the same unit"),
    ("field a: Int = min(«true, false);", TYPE, "min wants something that can be compared here, not Bool", None),
    ("field a: Int = max(1, «2.0);", TYPE, "max wants Int here, not Dec(1)", None),
    ("field a: Int = max(1, «none);", TYPE, "max wants Int here, not none", None),
    ('field a: Bool = emitCompliance(«1, true, "m");', TYPE, "emitCompliance wants a code in quotes here", None),
    ('field a: Bool = emitCompliance("A", true, "m") && «emitCompliance("A", true, "m");', TYPE,
     "two compliance statements 'A'", "state it once, or once in each branch of an 'if'"),
    ('field a: Bool = emitCompliance("A", true, "m"); field b: Bool = if (true) then «emitCompliance("A", true, "m") '
     "else true;", TYPE, "two compliance statements 'A'", "state it once, or once in each branch of an 'if'"),
]  # fmt: skip
LISTS = [
    ("field a: Int = count(«1);", TYPE, "count wants a List here, not Int", None),
    ('field a: Int = count(map(getFactsByPrefix("a", "b"), «1));', TYPE, "map wants a lambda here", "write x => …"),
    ('field a: Int = count(map(getFactsByPrefix("a", "b"), «(x, y) => 1));', TYPE, "map wants a lambda here",
     "write x => …"),
    ('field a: Int = fold(getFactsByPrefix("a", "b"), 1, «x => 1);', TYPE, "fold wants a lambda here",
     "write (acc, x) => …"),
    ('field a: Int = fold(getFactsByPrefix("a", "b"), 1, (x, «x) => 1);', TYPE, "two parameters 'x'", None),
    ('field a: Int = count(filter(getFactsByPrefix("a", "b"), x => «1));', TYPE, "the lambda gives Int, not Bool",
     None),
    ('field a: Dec(1) = fold(getFactsByPrefix("a", "b"), 1.0, (acc, x) => «1.25);', TYPE,
     "the lambda gives Dec(2), not Dec(1)", "a fold begins with a value of the type that its lambda gives"),
    ("field a: Qty(kg) = sumQty(«1);", TYPE, "sumQty wants a List here, not Int", None),
    ('field a: Qty(kg) = sumQty(«getFactsByPrefix("a", "b"));', TYPE,
     "sumQty wants a List of quantities here, not List(Fact)", "map(…, x => toQty(unit, …)) first"),
    ('field a: Dec(1) = sumDec(«getFactsByPrefix("a", "b"));', TYPE,
     "sumDec wants a List of Dec here, not List(Fact)", "map(…, x => toDec(scale, …)) first"),
    ('field a: Int = count(map(getFactsByPrefix("a", "b"), x => «getFact("c", "d")));', TYPE,
     "getFact cannot stand inside a lambda", "put it before: let x = …; and use x inside"),
    ('field a: Int = count(map(getFactsByPrefix("a", "b"), x => «cite("c"); 1));', TYPE,
     "cite cannot stand inside a lambda", "cite before the lambda"),
]  # fmt: skip
TESTS = [
    ("example «if: {} => 1;", PARSE, "'if' is a word of the language and cannot stand here",
     "put it in parentheses: (if …)"),
    (EXAMPLE + "«1;", PARSE, "expected an expectation, found '1'", None),
    (EXAMPLE + "«expects(a, == 1);", PARSE, "unknown expectation 'expects'", "did you mean expect?"),
    (EXAMPLE + "«hope(a);", PARSE, "unknown expectation 'hope'",
     "known are expect, expectEmpty, expectError, expectCompliance"),
    (EXAMPLE + "expect(a, «1);", PARSE, "expected a comparison such as ==, found '1'", None),
    (EXAMPLE + "expectEmpty(a, «none);", PARSE, "expected withheld, notApplicable or missing, found 'none'", None),
    (EXAMPLE + "expectError(«a);", PARSE, "expected a code in quotes, found 'a'", None),
    (EXAMPLE + 'expectCompliance("A", «1);', PARSE, "expected true or false, found '1'", None),
    (EXAMPLE + 'expectError("A")«', PARSE, "expected ';', found the end of the text", "an example ends with ';'"),
    ('field a: Int = 1; example e: {} => expectError("A"); «example e: {} => expectError("A");', TYPE,
     "two tests 'e'", "rename one of them"),
    ("example e: {«facts} => 1;", PARSE, "expected 'fact', 'lawDate' or '}', found 'facts'", None),
    ('example e: {fact b("B", "b") = «[1];} => 1;', PARSE, 'expected a JSON object such as {"years": 8}, found \'[\'',
     None),
    ('example e: {fact b("B", "b") = {"a": «1.5};} => 1;', PARSE, "a fraction in a fact",
     'facts keep decimals as text: "1.5"'),
    ('example e: {fact b("B", "b") = {"a": «-9007199254740992};} => 1;', PARSE, "too large a number in a fact",
     "facts keep numbers beyond 2^53-1 as text"),
    ('example e: {fact b("B", "b") = {"a": -«x};} => 1;', PARSE, "expected a number, found 'x'", None),
    ('example e: {fact b("B", "b") = {"a": 1, «"a": 2};} => 1;', PARSE, "two values for 'a'", None),
    ('example e: {fact b("B", "b") = {"a": «;};} => 1;', PARSE,
     "expected a JSON value, or the name of a generated one, found ';'", None),
    ('example e: {fact b("B", "b") = {}; «fact c("B", "b") = {};} => 1;', PARSE, "two facts 'B' 'b'", None),
    ('example e: {fact b("B", "b") = {}«} => 1;', PARSE, "expected ';', found '}'", "a fixture ends with ';'"),
    ('example e: {lawDate("2027-02-18"); «lawDate("2027-02-18");} => 1;', PARSE, "two law dates", None),
    ('example e: {fact b("B", "b") = {"a": [1, «x]};} => expectError("A");', TYPE, "unknown name 'x'",
     'texts stand in quotes; "forall" generates values'),
    (PROPERTY + "«seed(1)", PARSE, "expected 'cases', found 'seed'", None),
    (PROPERTY + "cases(«x)", PARSE, "expected a number, found 'x'", None),
    (PROPERTY + "cases(«0)", PARSE, "a property of no cases", None),
    (PROPERTY + "cases(«2000000000)", LIMIT, "cases(2000000000) (the limit is 100000)", SPLIT),
    (PROPERTY + "cases(1) seed(«9007199254740992)", LIMIT,
     "seed(9007199254740992) (the limit is 9007199254740991)", SPLIT),
    (PROPERTY + "cases(1) seed(1) {} forall x: Int in «(1)", PARSE, "expected '{', found '('",
     "a range [low, high] or a choice {a, b}"),
    (PROPERTY + "cases(1) seed(1) {} forall x: Int in [1«]", PARSE, "expected ',', found ']'",
     "a range has two ends: [low, high]"),
    (PROPERTY + "cases(1) seed(1) {} forall x: Int in [1, 2«, 3]", PARSE, "expected ']', found ','",
     "a range has two ends: [low, high]"),
    (PROPERTY + "cases(1) seed(1) {} forall x: Int in {1}, «x: Int in {1}", PARSE, "two generated values 'x'", None),
    (PROPERTY + "cases(1) seed(1) {} forall x: Int in {1} => true«", PARSE,
     "expected ';', found the end of the text", "a property ends with ';'"),
    (PROPERTY + 'cases(1) seed(1) {fact b("B", "b") = {"a": «years};} forall year: Int in {1} => true;', TYPE,
     "unknown name 'years'", "did you mean year?"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "code", "message", "hint"),
    WORDS + FIELDS + TABLES + EXPRESSIONS + NAMES + OPERATORS + FITTING + CALLS + LISTS + TESTS,
)
def test_an_error_has_its_code_place_and_hint(
    expected: str, code: str, message: str, hint: str | None
) -> None:
    source = expected.replace("«", "")
    error = error_in(source)

    assert (error.code, error.message, error.hint) == (code, message, hint)
    assert marked(source, error) == expected


@pytest.mark.parametrize(
    ("expected", "message", "limits"),
    [
        ("«field a: Int = 1;", "the rule text has 17 bytes (the limit is 16)", Limits(source_bytes=16)),
        ("field a: Int = 1«;", "more than 6 words and signs (the limit is 6)", Limits(nodes=6)),
        ("field a: Int = (((«1)));", "nested 3 levels deep (the limit is 2)", Limits(nesting=2)),
        ("field «a.b.c: Int = 1;", "a path of 3 names (the limit is 2)", Limits(nesting=2)),
        ("field a: Int = «1234;", "a number of 4 digits (the limit is 3)", Limits(digits=3)),
        ("field a: Dec(2) = «12.34;", "a number of 4 digits (the limit is 3)", Limits(digits=3)),
        ("field a: Dec(«3) = 1.0;", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        ("field a: Dec(2) = «1.234;", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        ("field a: Qty(kg) = qty(«1.234, kg);", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        ("field a: Dec(2) = round(up, «3, 1);", "too many digits after the point (the limit is 2)", Limits(scale=2)),
        (
            "property p: cases(«3) seed(1) {} forall x: Int in {1} => true;",
            "cases(3) (the limit is 2)",
            Limits(cases=2),
        ),
    ],
)
def test_every_limit_of_the_text_can_be_set(expected: str, message: str, limits: Limits) -> None:
    source = expected.replace("«", "")
    error = error_in(source, limits)

    assert (error.code, error.message) == (LIMIT, message)
    assert marked(source, error) == expected
    assert error.hint


PRINTED = [
    (
        'field energy.total: Qty(kWh) =\n  let usable = qty(75, kWh);\n  usable * 60 + qty(1, kWhh);\n',
        "RULE_TYPE_ERROR: unknown unit 'kWhh' (line 3, column 24)\n"
        "      usable * 60 + qty(1, kWhh);\n"
        "                           ^^^^\n"
        "hint: did you mean kWh?",
    ),
    (
        'field a: Int = field("b");\r\n\tfield b: Int =\tfield("a") + 1;',
        "RULE_CYCLE_DETECTED: fields need each other: a -> b -> a (line 1, column 7)\n"
        '    field a: Int = field("b");\n'
        "          ^\n"
        "hint: one of them must not use the others",
    ),
    (
        "field a: Int =\n\tlet\tx = 1;\ttrue;",
        "RULE_TYPE_ERROR: the field is Int, but this is Bool (line 2, column 13)\n"
        "    \tlet\tx = 1;\ttrue;\n"
        "    \t   \t      \t^^^^",
    ),
]


@pytest.mark.parametrize(("source", "printed"), PRINTED)
def test_an_error_is_printed_with_its_line_underlined(source: str, printed: str) -> None:
    assert render(source, error_in(source)) == printed
