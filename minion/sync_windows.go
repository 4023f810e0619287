package minion

// syncDir does nothing: Windows keeps renames in order.
func syncDir(string) error { return nil }
