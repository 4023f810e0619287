package fileclient

import (
	"context"
	"io"
)

// A Fetcher fetches files of some URL schemes. The program supplies the Fetchers of a Client, so
// that a small program can leave them out.
type Fetcher interface {
	// Schemes returns the supported schemes, in lower case.
	Schemes() []string
	// Fetch writes the content of a URL to w. If it fails, the content written so far is not
	// usable. Errors, such as a *FetchError, contain no passwords.
	Fetch(ctx context.Context, f Fetch, w io.Writer) (Fetched, error)
}

// A Fetch is a request to a Fetcher and, without URL and ETag, to a Client for URLs that are not
// salt://.
type Fetch struct {
	URL string // may hold a user and a password
	// hash of an acceptable cached copy; its length gives the algorithm; "" is none
	SourceHash string
	Insecure   bool   // do not verify the server's certificate
	UseETag    bool   // ask whether the copy is still current
	ETag       string // of the copy; "" is none
}

// A Fetched is the result of a Fetcher.
type Fetched struct {
	Text      bool   // the content is text
	ETag      string // of the content; "" is none
	Unchanged bool   // the copy with the ETag of the Fetch is still current; nothing was written
}

// A FetchError is a server's error reply, or the reason why it could not be reached.
type FetchError struct {
	Text string // Salt's text
	Err  error  // the cause; may be nil
}

// Error returns the text.
func (e *FetchError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *FetchError) Unwrap() error { return e.Err }
