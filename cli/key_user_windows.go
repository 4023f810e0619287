package cli

// userID returns a number that no user has: there is none to switch to on Windows.
func userID(string) (int, error) { return -1, nil }

func switchUser(string) error { return nil }

func giveTo(string, int) error { return nil }
