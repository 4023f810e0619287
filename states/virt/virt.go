// Package virt is the part of Salt's state virt for keys: a host's files with which libvirt speaks TLS
// (salt/states/virt.py, keys). They come from the external pillar libvirt of the master. Virtual
// machines, pools and networks are not managed.
//
// Differences from Salt: private keys are for their owner alone, test mode makes no directories, and a pillar
// without keys is a failure.
package virt

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state virt.
func Plugin() loader.Plugin { return loader.Plugin{Name: "virt", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{loader.F("keys", m.keys)}}, nil
}

// A file is one of the files of libvirt.
type file struct {
	word, path string
	mode       fs.FileMode
}

// secret is the mode of private keys.
const secret = 0o600

func files(base string) []file {
	in := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	return []file{
		{"serverkey", in("libvirt", "private", "serverkey.pem"), secret},
		{"servercert", in("libvirt", "servercert.pem"), 0o644},
		{"clientkey", in("libvirt", "private", "clientkey.pem"), secret},
		{"clientcert", in("libvirt", "clientcert.pem"), 0o644},
		{"cacert", in("CA", "cacert.pem"), 0o644},
	}
}

type keysArgs struct {
	Name     any
	Basepath string    `default:"'/etc/pki'"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// keys keeps the private keys and certificates of libvirt. The master makes them in its external
// pillar libvirt when the state first runs.
//
// basepath
//
//	The directory of libvirt's directories libvirt and CA.
//
// country, st, locality, organization, expiration_days
//
//	Parts of the certificates, if the external pillar sees these values.
//
//	libvirt_keys:
//	  virt.keys
func (m *module) keys(ctx context.Context, a keysArgs) (change.Result, error) {
	more := &data.Map{}
	for name, v := range a.Kwargs.All() {
		more.Set("ext_pillar_virt."+data.Str(name), v)
	}
	wanted, err := loader.CallAs[*data.Map](ctx, m.env, "pillar.ext", []any{data.NewMap("libvirt", "_"), more}, nil)
	if err != nil {
		return change.Result{}, err
	}
	var here []file
	for _, f := range files(filepath.Join(m.env.Root, a.Basepath)) {
		if wanted.Has("libvirt." + f.word + ".pem") {
			here = append(here, f)
		}
	}
	if len(here) == 0 {
		return change.Refuse(a.Name, "The pillar has no keys of libvirt")
	}
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(context.Context) (*data.Map, error) { return differences(here, wanted) },
		Wants: func(different *data.Map) *data.Map { return different },
		Apply: func(_ context.Context, different *data.Map) error {
			for _, f := range here {
				if !different.Has(f.word) {
					continue
				}
				if err := f.write(wanted.Text("libvirt." + f.word + ".pem")); err != nil {
					return err
				}
			}
			return nil
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "All keys are correct",
			Would: "Libvirt keys are set to be updated",
			Done:  "Updated libvirt certs and keys",
		},
	}.Ensure(ctx)
}

// differences returns the files that are new or have another text.
func differences(here []file, wanted *data.Map) (*data.Map, error) {
	different := &data.Map{}
	for _, f := range here {
		text, err := os.ReadFile(f.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			different.Set(f.word, "new")
		case err != nil:
			return nil, err
		case string(text) != wanted.Text("libvirt."+f.word+".pem"):
			different.Set(f.word, "update")
		}
	}
	return different, nil
}

// write writes a file. Symbolic links are followed, and the owner of an existing file stays. Private keys
// are for their owner alone, also if others could read the old one.
func (f file) write(text string) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	o := atomicfile.Options{Follow: true, Mode: f.mode, Keep: true}
	if f.mode == secret {
		o.Own = func(f *os.File) error { return f.Chmod(secret) }
	}
	return atomicfile.Write(f.path, []byte(text), o)
}
