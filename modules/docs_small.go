//go:build small && !docs

package modules

// A small build has no documentation of functions.
const coreDocs, extraDocs = "", ""
