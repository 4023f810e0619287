// Package operations tests docs/operations.md with real processes: each row of its tables has a
// script in testdata/script that names it in a comment, and a test compares the two. It contains
// only tests.
package operations
