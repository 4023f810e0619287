package cache

import (
	"fmt"
	"strings"
)

// CheckName returns an error for a bank or a key that no Bank accepts. With whole, an empty key
// stands for the bank.
func CheckName(bank, key string, whole bool) error {
	for name := range strings.SplitSeq(bank, "/") {
		if !valid(name) {
			return fmt.Errorf("cache: %q is not the name of a bank", bank)
		}
	}
	if whole && key == "" {
		return nil
	}
	if strings.Contains(key, "/") || !valid(key) {
		return fmt.Errorf("cache: %q is not the name of a key", key)
	}
	return nil
}

func valid(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "\\\x00")
}
