package grains

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// Limits for metadata servers. They are one hop away and answer within milliseconds.
const (
	metadataAddr     = "169.254.169.254:80"
	metadataConnect  = 100 * time.Millisecond // salt/grains/metadata.py
	metadataRequest  = time.Second
	metadataTime     = 5 * time.Second // all requests of a collection
	metadataRequests = 1000
	metadataBody     = 1 << 20
	metadataDepth    = 16
)

var (
	errMetadataRequests = fmt.Errorf("more than %d requests", metadataRequests)
	errMetadataBody     = fmt.Errorf("a body of more than %d bytes", metadataBody)
	errMetadataAnswer   = errors.New("bad answer")
)

// A metadataServer is the server that clouds have at 169.254.169.254. It uses HTTP/1.1 (RFC 9112)
// with one connection per request, and without package net/http, which small minions do not
// include.
type metadataServer struct {
	dial     func(ctx context.Context, network, addr string) (net.Conn, error)
	token    string // of EC2's second version of the service, once it was needed
	requests int    // remaining requests
}

// An answer is a metadata server's reply to one request.
type answer struct {
	status int
	header textproto.MIMEHeader
	body   string
}

// get requests a path; headers are whole lines. A status other than 200 is an error, too.
func (s *metadataServer) get(ctx context.Context, path string, headers ...string) (answer, error) {
	if s.token != "" {
		headers = append(headers, "X-aws-ec2-metadata-token: "+s.token)
	}
	a, err := s.ask(ctx, "GET", path, headers)
	if err == nil && a.status != 200 {
		err = fmt.Errorf("status %d", a.status)
	}
	if err != nil {
		return a, fmt.Errorf("metadata %s: %w", path, err)
	}
	return a, nil
}

func (s *metadataServer) ask(
	ctx context.Context, method, path string, headers []string,
) (answer, error) {
	if s.requests--; s.requests < 0 {
		return answer{}, errMetadataRequests
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return answer{}, errMetadataAnswer
	}
	ctx, cancel := context.WithTimeout(ctx, metadataRequest)
	defer cancel()
	conn, err := s.connect(ctx)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: 169.254.169.254",
		"Connection: close", "Content-Length: 0"}, headers...)
	if _, err := io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		return answer{}, err
	}
	a, err := readAnswer(conn)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return a, err
}

func (s *metadataServer) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataConnect)
	defer cancel()
	return s.dial(ctx, "tcp4", metadataAddr)
}

// readAnswer reads a response with a body of at most metadataBody bytes, and as many for the head.
func readAnswer(r io.Reader) (a answer, err error) {
	in := bufio.NewReader(io.LimitReader(r, 4*metadataBody))
	text := textproto.NewReader(in)
	line, err := text.ReadLine()
	if err != nil {
		return a, err
	}
	proto, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	if a.status, err = strconv.Atoi(code); err != nil || !strings.HasPrefix(proto, "HTTP/1.") {
		return a, errMetadataAnswer
	}
	if a.header, err = text.ReadMIMEHeader(); err != nil {
		return a, err
	}
	var body []byte
	if strings.EqualFold(a.header.Get("Transfer-Encoding"), "chunked") {
		body, err = readChunks(in)
	} else {
		body, err = readBody(in, a.header.Get("Content-Length"))
	}
	a.body = clean(body)
	return a, err
}

// readBody reads as much as Content-Length says, or everything without it.
func readBody(in io.Reader, length string) ([]byte, error) {
	if length == "" {
		body, err := io.ReadAll(io.LimitReader(in, metadataBody+1))
		if err == nil && len(body) > metadataBody {
			err = errMetadataBody
		}
		return body, err
	}
	n, err := strconv.ParseUint(length, 10, 63)
	if err != nil {
		return nil, errMetadataAnswer
	}
	if n > metadataBody {
		return nil, errMetadataBody
	}
	body := make([]byte, n)
	_, err = io.ReadFull(in, body)
	return body, err
}

// readChunks reads a chunked body; data after its last chunk is ignored.
func readChunks(in *bufio.Reader) ([]byte, error) {
	var body []byte
	text := textproto.NewReader(in)
	for {
		line, err := text.ReadLine()
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimSpace(size), 16, 63)
		if err != nil {
			return nil, errMetadataAnswer
		}
		if n == 0 {
			return body, nil
		}
		if n > uint64(metadataBody-len(body)) {
			return nil, errMetadataBody
		}
		body = append(body, make([]byte, n)...)
		if _, err := io.ReadFull(in, body[len(body)-int(n):]); err != nil {
			return nil, err
		}
		if line, err := text.ReadLine(); err != nil || line != "" {
			return nil, errMetadataAnswer
		}
	}
}
