// Package fingerprint turns what a command says into a digest, so that a retry
// can be told from another command that carries the same key.
//
// A [Meaning] is digested twice. The raw digest covers the bytes as they came
// and is cheap: an identical retry is recognised by it alone. The canonical
// digest covers what the bytes say: two JSON texts that differ only in member
// order, white space, escapes or the spelling of a number have the same one.
// A [Fingerprint] holds both, with the [Version] of the rule that made them, so
// that a record written by an old rule is checked by that rule.
//
// # Canonical JSON
//
// The canonical form of a JSON text (RFC 8259) is again a JSON text:
//
//   - No white space outside strings.
//   - Members are sorted by the code points of their unescaped names, which is
//     the byte order of their UTF-8. (RFC 8785 sorts by UTF-16 units.)
//     Elements of an array keep their order.
//   - null is a value like any other: a member that is null is not a member
//     that is absent.
//   - Strings are compared by code points after unescaping. No Unicode
//     normalisation: a composed and a decomposed é differ. They are written as
//     in RFC 8785 section 3.2.2.2, with as few escapes as possible.
//   - Numbers are compared by their exact decimal value and written as the
//     shortest integer of digits and a power of ten: 1, 1.0, 1e0 and 10e-1 are
//     all 1, and 100 is 1e2. Zero is 0 whatever its sign, digits or exponent,
//     so -0, 0.0 and 0e9 are equal. Nothing is rounded: 2^53 and 2^53+1 differ.
//     The power of ten is bounded by [ExponentMax] and never expanded.
//
// What has no canonical form is refused with an [*Error] that names the fault
// and its byte offset and repeats nothing of the input: duplicate members
// (compared after unescaping), invalid UTF-8, lone surrogate escapes, more than
// [DepthMax] nested containers, an exponent out of bounds, data after the text,
// an empty text, and any departure from the grammar of RFC 8259, including a
// byte order mark.
//
// # Digests
//
// Every digest is SHA-256 over the word "onceward", the encoding's number and
// the kind of meaning, followed by parts that each carry their length or their
// count in front. Two different meanings therefore never share a preimage.
//
// The package is pure: it reads no clock, no environment and no network, and
// works on what it was given. All memory it uses is proportional to the input.
package fingerprint
