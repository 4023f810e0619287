package swarm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/crypto"
)

// Keys provides the keys of a swarm's minions. Making one takes a tenth of a second, so they are
// stored in a directory.
type Keys struct {
	Dir      string // where they are stored; "" stores none
	Distinct int    // number of keys to make and assign in turn; 0 makes one for each minion
	Bits     int    // 0 means 2048

	made map[int]*crypto.PrivateKey
}

// Key returns the key of the i-th minion.
func (k *Keys) Key(i int) (*crypto.PrivateKey, error) {
	if k.Distinct > 0 {
		i %= k.Distinct
	}
	if key, ok := k.made[i]; ok {
		return key, nil
	}
	key, err := k.load(i)
	if err != nil {
		return nil, fmt.Errorf("key of minion %d: %w", i, err)
	}
	if k.made == nil {
		k.made = map[int]*crypto.PrivateKey{}
	}
	k.made[i] = key
	return key, nil
}

func (k *Keys) load(i int) (*crypto.PrivateKey, error) {
	file := filepath.Join(k.Dir, fmt.Sprintf("%05d.pem", i))
	if k.Dir != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			return crypto.ParsePrivateKey(text, "")
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	key, err := crypto.GenerateKey(cmp.Or(k.Bits, 2048))
	if err != nil || k.Dir == "" {
		return key, err
	}
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return nil, err
	}
	return key, os.WriteFile(file, key.PEM(""), 0o600)
}
