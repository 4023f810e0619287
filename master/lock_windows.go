package master

// lockFolder does nothing: the ports keep a second master away.
func lockFolder(string) (free func() error, err error) { return func() error { return nil }, nil }
