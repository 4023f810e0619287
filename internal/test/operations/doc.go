// Package operations proves docs/operations.md with real processes: each row of its tables has a script in
// testdata/script that names it in a comment, and a test holds the two together. It has tests only.
package operations
