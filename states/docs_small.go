//go:build small && !docs

package states

// A small build has no documentation of functions.
const coreDocs, extraDocs = "", ""
