package program

// Trusted reports no error: the access lists of Windows are not read.
func Trusted(string) error { return nil }
