//go:build small

package ini

// codepage returns nil: a small build has no tables of characters.
func codepage(string) charset { return nil }
