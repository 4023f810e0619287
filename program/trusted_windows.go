package program

// Trusted reports no error: the access lists of Windows are not read.
func Trusted(string) error { return nil }

// resolve returns path.
func resolve(path string) (string, error) { return path, nil }
