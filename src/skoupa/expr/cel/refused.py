"""What CEL policies may use elsewhere and can't have here, as data: for the errors of the compiler and for the docs.

A name in REFUSED is an error at compile time that says why and what to write. LIMITS hold at run time: going over one
is an error for the object at hand, which stays. DIFFERENCES are places where an answer is defined otherwise.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Refusal(msgspec.Struct, frozen=True):
    """`name` is the function or variable as written; `instead` says what to write."""

    name: str
    reason: str
    instead: str


_TWO_VARIABLES: Final = "comprehensions with two variables are macros that the engine does not have"
_NO_REQUEST: Final = "policies that delete run on a schedule, so there is no admission request"

REFUSED: Final = (
    Refusal("request", _NO_REQUEST, "look at object"),
    Refusal("oldObject", _NO_REQUEST, "look at object"),
    Refusal("authorizer", _NO_REQUEST, "leave permissions to roles"),
    Refusal("exceptions", "exceptions are applied before conditions", "write a PolicyException"),
    Refusal("user.parseServiceAccount", _NO_REQUEST, "look at object"),
    Refusal("generator.Apply", "a policy that deletes makes nothing", "use a GeneratingPolicy"),
    Refusal("generator.apply", "a policy that deletes makes nothing", "use a GeneratingPolicy"),
    Refusal("sortBy", "sortBy is a macro that the engine does not have", "map to the keys, then sort()"),
    Refusal("transformList", _TWO_VARIABLES, "use map with one variable"),
    Refusal("transformMap", _TWO_VARIABLES, "use map with one variable"),
    Refusal("transformMapEntry", _TWO_VARIABLES, "use map with one variable"),
    Refusal("existsOne", _TWO_VARIABLES, "use exists_one with one variable"),
    Refusal("regex.extract", "its engine-side optional of groups is not available", "use find or findAll"),
    Refusal("regex.extractAll", "groups of all matches are not available", "use find or findAll"),
    Refusal("regex.replace", "its replacement syntax is not available", "use replace, or matches and find"),
    Refusal("proto.getExt", "there are no protocol buffers in policies", "look at object"),
    Refusal("proto.hasExt", "there are no protocol buffers in policies", "look at object"),
    Refusal("jsonpatch.escapeKey", "a policy that deletes patches nothing", "leave it out"),
    Refusal("net.IP", "types have no names at run time", "write isIP(text)"),
    Refusal("net.CIDR", "types have no names at run time", "write isCIDR(text)"),
    Refusal("optional.unwrap", "the engine does not have it", "use filter and map on the values"),
    Refusal("unwrapOpt", "the engine does not have it", "use filter and map on the values"),
)
BY_NAME: Final = {refusal.name: refusal for refusal in REFUSED}

LIMITS: Final = (
    "All comprehensions of one expression together take at most 10,000 steps for one object.",
    "Calls, additions and field paths are nested at most 32 deep.",
    "Lists made by functions have at most 1,000,000 elements; texts searched by find have at most 1,048,576 characters.",
    "Whole numbers have 64 bits; a larger one anywhere in the fields looked at is an error for that object.",
)

DIFFERENCES: Final = (
    "orValue on a field that is no optional (`object.spec.x.orValue(1)`) is that field, as in Kyverno; else it is an error.",
    "Variables can't hold an optional or a type: end them with orValue(...), hasValue() or a comparison.",
    "Timestamps and durations that go through a function or a variable keep microseconds, not nanoseconds.",
    "A timestamp with an offset other than Z that string or format would write is an error; one that comes from a variable is written in UTC.",
    "format has no %e, and takes as many values as it has clauses; its %f has commas (1,234.50), as in Kubernetes.",
    "The time zone Local is not known, and indexOf and lastIndexOf from beyond the end of a text are errors.",
    "A uint that goes through a function other than min, max and sum becomes an int: equal, but not to be added to a uint.",
    "Lists of timestamps or durations have min, max and sum; other functions on them are errors at run time.",
    "A text with a NUL character (or half a surrogate pair) in the fields looked at is an error for that object: the engine would cut it there.",
    "quantity(...).isInteger() asks whether the number is whole, however it is written (1000m is).",
    "Numbers that json.unmarshal, yaml.parse and http read are doubles, as in Kyverno; those of objects are ints.",
    "time.now() is one moment for a whole batch of objects; random strings are the same when an object is judged again.",
    "gzip.compress makes other bytes than Go's encoder does; they unpack to the same text.",
    "namespaceObject of an object without a namespace is null.",
    "A map that is written with one key twice is an error; in cel-go the last counts.",
    "has() on an optional that holds something other than a map is an error (`has(object.?a.b)`); on a field that is no map, null among them, it is false, as in cel-go.",
)
