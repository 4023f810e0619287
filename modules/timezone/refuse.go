//go:build !windows && !darwin

package timezone

func refuse() error { return nil }
