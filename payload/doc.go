// Package payload encodes values as MessagePack and decodes them, like Salt (salt/payload.py), and
// splits messages without decoding them.
//
// # Two forms
//
// A value has two encodings. In the wire form (use_bin_type false; used for request and publication
// bodies and everything encrypted or signed), text and bytes are both encoded as the old "raw"
// type, so a reader cannot distinguish them. Unmarshal treats valid UTF-8 as text. In the bin form
// (event bus, files, frames) they differ. UnmarshalText keeps the difference but, like Salt, treats
// all strings as bytes if a text is not UTF-8. Every reader here accepts any mix of both forms.
// Rewrite converts one form to the other without building values: the result has the bytes that
// Salt would produce by decoding and encoding again.
//
// A master forwards far more than it reads. Fields therefore holds a map as an ordered list of keys
// and raw values that share the memory of the input: reading three fields of a return costs one
// allocation.
//
// # Limits
//
// All input is treated as hostile. Each reader takes Limits and enforces them before allocating. It
// never reserves more for a list or map than the remaining input bytes and nodes allow, and every
// announced element counts at once. Trailing input after the value is an error. Zero Limits mean
// WireLimits.
//
// # Which codec
//
// Package typed encodes structs with github.com/ugorji/go/codec. Dynamic values use the code here.
// That library cannot decode into an ordered map that keeps text and bytes apart with a fall-back
// per message, and has no limit on the total of nodes. Even into its own unordered maps it takes
// three to four times as long (see BenchmarkLibrary). Append, the Unmarshal functions, Check,
// ParseFields and Rewrite share one reader of MessagePack heads, in head.go.
//
// # Details
//
// Integers beyond 64 bits are encoded as decimal text. Times are extension 78 with a text, named
// constants extension 79. Any other extension is decoded to its payload bytes, except MessagePack's
// own timestamp (-1). A map with a list or map as a key is an error. A repeated key has its first
// position and its last value.
package payload
