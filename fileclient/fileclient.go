// Package fileclient gets files: from a master's file server, from the minion's own file_roots, from its disk, and from servers of
// other protocols (salt/fileclient.py).
//
//	c, err := fileclient.ForEnv(env)
//	path, err := c.CacheFile(ctx, "salt://web/nginx.conf", "base", fileclient.Fetch{})
//
// What is cached lies below the minion's cachedir, at Salt's paths:
//
//	files/<saltenv>/<path>            files of salt://
//	extrn_files/<saltenv>/<host>/…    files of http(s) and ftp
//	localfiles/<path>                 copies of the minion's own files
//	files/.partial, extrn_files/.partial, localfiles/.partial  files that are not whole yet
//
// A file is asked for its hash first, and comes over the network only when the copy at its destination differs. Its pieces are asked for
// a few at a time and written in order to a file in .partial; when all of it is there and has the hash that was told, it takes its
// place by a rename, so that a reader sees the old file or the new one. A download that was broken off goes on where it ended as long as
// the file on the server is the same. Memory does not grow with the size of a file; a compressed piece may not grow beyond what is left of
// the size that the server told.
//
// Names come from templates, URLs and masters: whatever they say, nothing is written outside of the cachedir but to the destination
// that the caller names.
package fileclient

import (
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// Errors that callers decide on.
var (
	// ErrNotFound is wrapped when the file server has no such file.
	ErrNotFound = errors.New("file not found")
	// ErrPath is wrapped when a name leads out of the place where it belongs.
	ErrPath = errors.New("invalid path")
	// ErrHash is wrapped when what came does not have the hash that the server told.
	ErrHash = errors.New("content does not have the hash that was told")
	// ErrReply is wrapped when a file server answers what makes no sense.
	ErrReply = errors.New("malformed reply of the file server")
	// ErrNoFolder is wrapped when the directory of a destination is missing and is not to be made.
	ErrNoFolder = errors.New("the directory of the destination does not exist")
	// ErrScheme is wrapped when nothing can get files of a URL's scheme.
	ErrScheme = errors.New("no way to get files of this scheme")
)

// Options say where a [Client] gets files from and where it keeps them.
type Options struct {
	Source   Source
	CacheDir string    // the minion's cachedir
	HashType string    // of HashFile for files on the disk; "" means sha256
	Fetchers []Fetcher // of other schemes than salt and file
	Log      logrus.FieldLogger
}

// A Client gets files. Several goroutines may use it.
type Client struct {
	opts  Options
	slots chan struct{} // one for each piece that may be under way
	tidy  sync.Once     // drops old partial files
}

// New returns a client.
func New(o Options) *Client {
	if o.HashType == "" {
		o.HashType = "sha256"
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	return &Client{opts: o, slots: make(chan struct{}, mostPieces)}
}
