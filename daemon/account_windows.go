package daemon

// lookUp returns the user that the process runs as: a service is given its user when it is installed.
func lookUp(string) (account, error) { return account{}, nil }

func (a account) become() error { return nil }
