// Package payload turns values into MessagePack and back, as Salt does (salt/payload.py), and cuts messages apart
// without decoding them.
//
// # Two forms
//
// The same value has two encodings. In the wire form (use_bin_type false: request and publication bodies, all
// that is encrypted or signed) text and bytes both travel as the old "raw", so that a reader cannot tell them
// apart; Unmarshal takes what is valid UTF-8 for text. In the bin form (event bus, files, frames) they differ;
// UnmarshalText keeps the difference, and takes everything for bytes when one text is not UTF-8, as Salt does.
// Every reader here accepts both forms, in any mix. Rewrite goes from one form to the other without building
// values: it gives the bytes that Salt would get by decoding and encoding again.
//
// A master forwards far more than it looks at, so Fields holds a map as keys and raw values, in order, that
// share the memory of the input: reading three fields of a return costs one allocation.
//
// # Limits
//
// All input is hostile. Each reader takes Limits and holds them before it allocates: no more is reserved for a
// list or map than the input still has bytes and Limits still have nodes, and every announced element counts
// at once. Input after the value is an error. Zero Limits are WireLimits.
//
// # Which codec
//
// Structs go through github.com/ugorji/go/codec: package typed. Dynamic values do not: that library has no decoder into an
// ordered map that keeps text and bytes apart with a fall-back per message, no total of nodes, and into its own
// unordered maps it takes three to four times the time of the code here (see BenchmarkLibrary). So Append, the Unmarshal
// functions, Check, ParseFields and Rewrite stand on one reader of MessagePack heads, in head.go.
//
// # What is odd
//
// Integers beyond 64 bits travel as decimal text. Times are extension 78 with a text, named constants extension
// 79; any other extension is read as its payload bytes, but for MessagePack's own timestamp (-1). A map whose
// key is a list or a map is an error, and a key that comes twice has its first place and its last value.
package payload
