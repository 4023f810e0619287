// Package fileclient fetches files: from a master's file server, from the minion's own file_roots,
// from its disk, and from servers of other protocols (salt/fileclient.py).
//
//	c, err := fileclient.ForEnv(env)
//	path, err := c.CacheFile(ctx, "salt://web/nginx.conf", "base", fileclient.Fetch{})
//
// Cached files lie below the minion's cachedir, at Salt's paths:
//
//	files/<saltenv>/<path>            files of salt://
//	extrn_files/<saltenv>/<host>/…    files of http(s) and ftp
//	localfiles/<path>                 copies of the minion's own files
//	files/.partial, extrn_files/.partial, localfiles/.partial  incomplete files
//
// The client first requests the hash of a file, and downloads it only if the copy at its
// destination differs. Pieces are requested a few at a time and written in order to a file in
// .partial. When the file is complete and has the reported hash, a rename puts it in place, so that
// a reader sees either the old file or the new one. An interrupted download is resumed as long as
// the file on the server is the same. Memory use does not grow with the size of a file. A
// compressed piece may not expand beyond the remaining part of the size that the server reported.
//
// Names come from templates, URLs and masters. Whatever they are, nothing is written outside of the
// cachedir except to the destination that the caller names.
package fileclient

import (
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/logging"
)

// Errors that callers can check for.
var (
	// ErrNotFound is wrapped when the file server has no such file.
	ErrNotFound = errors.New("file not found")
	// ErrPath is wrapped when a name leads out of the directory that it belongs in.
	ErrPath = errors.New("invalid path")
	// ErrHash is wrapped when the received content does not have the hash that the server reported.
	ErrHash = errors.New("content does not have the hash that the server reported")
	// ErrReply is wrapped when a file server sends a malformed reply.
	ErrReply = errors.New("malformed reply of the file server")
	// ErrNoFolder is wrapped when the directory of a destination is missing and must not be made.
	ErrNoFolder = errors.New("the directory of the destination does not exist")
	// ErrScheme is wrapped when no fetcher supports a URL's scheme.
	ErrScheme = errors.New("unsupported URL scheme")
)

// Options say where a [Client] fetches files from and where it caches them.
type Options struct {
	Source   Source
	CacheDir string    // the minion's cachedir
	HashType string    // of HashFile for files on the disk; "" means sha256
	Fetchers []Fetcher // of other schemes than salt and file
	Log      logrus.FieldLogger
}

// A Client fetches files. It is safe for concurrent use.
type Client struct {
	opts  Options
	slots chan struct{} // one for each piece in progress
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
	return &Client{opts: o, slots: make(chan struct{}, maxPieces)}
}
