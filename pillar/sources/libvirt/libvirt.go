// Package libvirt is Salt's external pillar of that name: private keys and certificates with which a
// host serves and reaches libvirt over TLS (salt/pillar/libvirt.py). They are made when a minion first
// asks, which the state virt.keys does.
//
//	ext_pillar:
//	  - libvirt: _
//
// Files are in the directory libvirt of the master's pki_dir, where Salt has them: cakey.pem,
// cacert.pem, and those of each minion in a directory of its id.
//
// Differences from Salt: the name in certificates is the minion's id, as a minion can choose its grain
// fqdn. The program certtool is not needed. Private keys are for the master's user alone.
package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/certificate"
	"github.com/brineproject/brine/internal/certificate/draft"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/pillar"
)

// Source is the external pillar libvirt.
type Source struct{ mu *sync.Mutex }

// New returns the external pillar. Its copies make keys one after the other.
func New() Source { return Source{&sync.Mutex{}} }

// Name implements pillar.Source.
func (Source) Name() string { return "libvirt" }

// Pillar implements pillar.Source.
func (s Source) Pillar(_ context.Context, q pillar.Query) (*data.Map, error) {
	if q.ID == "" || q.ID != filepath.Base(q.ID) || strings.HasPrefix(q.ID, ".") {
		return nil, fmt.Errorf("keys of libvirt: the id %q is no name of a directory", q.ID)
	}
	base := q.Opts.Text("pki_dir")
	if base == "" {
		return nil, errors.New("keys of libvirt: the option pki_dir is empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := keys{dir: filepath.Join(base, "libvirt")}
	own := filepath.Join(k.dir, q.ID)
	if !paths.IsDir(own) {
		if err := k.make(own, q); err != nil {
			return nil, fmt.Errorf("make keys of libvirt for %s: %w", q.ID, err)
		}
	}
	return k.read(own)
}

// keys are the files of an authority for libvirt.
type keys struct {
	dir      string
	key, crt string // texts of the authority
}

// read returns the files of a minion, and the certificate of the authority.
func (k *keys) read(own string) (*data.Map, error) {
	entries, err := os.ReadDir(own)
	if err != nil {
		return nil, fmt.Errorf("read keys of libvirt: %w", err)
	}
	found := &data.Map{}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".pem" || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(own, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("read keys of libvirt: %w", err)
		}
		found.Set("libvirt."+e.Name(), string(text))
	}
	text, err := os.ReadFile(filepath.Join(k.dir, "cacert.pem"))
	if err != nil {
		return nil, fmt.Errorf("read keys of libvirt: %w", err)
	}
	found.Set("libvirt.cacert.pem", string(text))
	return found, nil
}

// make makes the keys and certificates of a minion, and the authority if there is none.
func (k *keys) make(own string, q pillar.Query) error {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return err
	}
	if err := k.authority(); err != nil {
		return err
	}
	part := func(word, standard string) string {
		if v := q.Pillar.Value("ext_pillar_virt." + word); data.Truth(v) {
			return data.Str(v)
		}
		return standard
	}
	days, err := strconv.Atoi(part("expiration_days", "365"))
	if err != nil {
		return fmt.Errorf("ext_pillar_virt.expiration_days: %w", err)
	}
	dir, err := os.MkdirTemp(k.dir, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server := data.NewMap("O", "salted", "CN", q.ID, "extendedKeyUsage", "serverAuth")
	client := data.NewMap("C", part("country", "US"), "ST", part("st", "Utah"),
		"L", part("locality", "Salt Lake City"), "O", part("organization", "Salted"), "CN", q.ID,
		"extendedKeyUsage", "clientAuth")
	for _, one := range []struct {
		name string
		args *data.Map
		days int
	}{{"server", server, days}, {"client", client, 365}} {
		if err := k.pair(dir, one.name, one.args, one.days); err != nil {
			return err
		}
	}
	return os.Rename(dir, own) // only a whole set has the name of the minion
}

// authority reads the authority, or makes it.
func (k *keys) authority() error {
	key, crt := filepath.Join(k.dir, "cakey.pem"), filepath.Join(k.dir, "cacert.pem")
	var err error
	if k.key, err = text(key, func() ([]byte, error) { return newKey() }, 0o600); err != nil {
		return err
	}
	k.crt, err = text(crt, func() ([]byte, error) {
		return sign(data.NewMap("CN", "salted", "signing_private_key", k.key, "days_valid", int64(3650),
			"basicConstraints", "critical, CA:TRUE", "keyUsage", "critical, keyCertSign",
			"subjectKeyIdentifier", "hash"))
	}, 0o644)
	return err
}

// text returns the text of a file, which is made if there is none.
func text(path string, make func() ([]byte, error), mode fs.FileMode) (string, error) {
	found, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(found), err
	}
	if found, err = make(); err != nil {
		return "", err
	}
	return string(found), atomicfile.Write(path, found, atomicfile.Options{Mode: mode})
}

// pair writes a private key and its certificate.
func (k *keys) pair(dir, name string, args *data.Map, days int) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	args.Update(data.NewMap("signing_private_key", k.key, "signing_cert", k.crt, "private_key", string(key),
		"days_valid", int64(days), "basicConstraints", "critical, CA:FALSE",
		"keyUsage", "critical, digitalSignature, keyEncipherment", "subjectKeyIdentifier", "hash",
		"authorityKeyIdentifier", "keyid"))
	crt, err := sign(args)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, name+"key.pem"), key, atomicfile.Options{Mode: 0o600}); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, name+"cert.pem"), crt, atomicfile.Options{Mode: 0o644})
}

const keyBits = 3072 // as certtool makes them

func newKey() ([]byte, error) {
	key, err := certificate.NewRSA(keyBits)
	if err != nil {
		return nil, err
	}
	der, err := certificate.MarshalKey(key, nil)
	return certificate.KeyPEM(der, false), err
}

// sign returns the certificate that arguments of package draft describe.
func sign(args *data.Map) ([]byte, error) {
	c, err := draft.Reader{NoFiles: true}.Cert(args, false)
	if err != nil {
		return nil, err
	}
	if err := c.Sign("sha256"); err != nil {
		return nil, err
	}
	return c.Cert.PEM(), nil
}
