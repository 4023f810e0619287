package minion

// syncDir does nothing: the file system keeps renames in order.
func syncDir(string) error { return nil }
