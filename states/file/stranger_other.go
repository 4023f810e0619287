//go:build !unix

package file

func strangersLink(string) string { return "" }
