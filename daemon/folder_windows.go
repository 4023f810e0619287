package daemon

// give does nothing: see lookUp.
func (f Folder) give(account, bool) error { return nil }

func giveFile(string, account) error { return nil }
