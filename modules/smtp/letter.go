package smtp

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A letter is a mail to send.
type letter struct {
	sender     string
	recipients []string
	text       []byte
}

// newLetter writes a mail with its header and its attachments.
func newLetter(a sendArgs, now time.Time) (*letter, error) {
	l := &letter{sender: calls.Text(a.Sender)}
	for recipient := range strings.SplitSeq(a.Recipient, ",") {
		l.recipients = append(l.recipients, strings.TrimSpace(recipient))
	}
	for _, line := range []string{a.Recipient, a.Subject, l.sender} {
		if strings.ContainsAny(line, "\r\n\x00") {
			return nil, loader.Execution("%q has more than one line", line)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "Subject: %s\r\nFrom: %s\r\nTo: %s\r\nDate: %s\r\nMIME-Version: 1.0\r\n",
		mime.QEncoding.Encode("utf-8", a.Subject), l.sender, a.Recipient, now.Format(time.RFC1123Z))
	var err error
	if files := filesOf(a.Attachments); len(files) > 0 {
		err = attach(&out, a.Message, files)
	} else {
		fmt.Fprintf(&out, "Content-Type: %s\r\nContent-Transfer-Encoding: base64\r\n\r\n", plainText)
		err = encode(&out, []byte(a.Message))
	}
	l.text = out.Bytes()
	return l, err
}

const plainText = `text/plain; charset="utf-8"`

// filesOf returns the paths of the attachments: a list or a single text.
func filesOf(v any) []string {
	if text, ok := v.(string); ok && text != "" {
		return []string{text}
	}
	return data.TextsOf(v)
}

// attach writes a mail of several parts: the message and the files.
func attach(out *bytes.Buffer, message string, files []string) error {
	parts := multipart.NewWriter(out)
	fmt.Fprintf(out, "Content-Type: multipart/mixed; boundary=%s\r\n\r\n", parts.Boundary())
	add := func(kind, disposition string, content []byte) error {
		header := textproto.MIMEHeader{"Content-Type": {kind}, "Content-Transfer-Encoding": {"base64"}}
		if disposition != "" {
			header.Set("Content-Disposition", disposition)
		}
		w, err := parts.CreatePart(header)
		if err != nil {
			return err
		}
		return encode(w, content)
	}
	if err := add(plainText, "", []byte(message)); err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return loader.Execution("attach a file: %w", err)
		}
		name := filepath.Base(file)
		kind := mime.FormatMediaType("application/octet-stream", map[string]string{"name": name})
		disposition := mime.FormatMediaType("attachment", map[string]string{"filename": name})
		if err := add(kind, disposition, content); err != nil {
			return err
		}
	}
	return parts.Close()
}

// encode writes base64 in lines of 76 characters.
func encode(w io.Writer, content []byte) error {
	text := base64.StdEncoding.EncodeToString(content)
	for len(text) > 0 {
		n := min(76, len(text))
		if _, err := io.WriteString(w, text[:n]+"\r\n"); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// deliver hands a mail to a server. It is enough if the server takes it for one recipient.
func (l *letter) deliver(c *smtp.Client) error {
	if err := c.Mail(l.sender); err != nil {
		return err
	}
	var refusals []error
	for _, recipient := range l.recipients {
		if err := c.Rcpt(recipient); err != nil {
			refusals = append(refusals, err)
		}
	}
	if len(refusals) == len(l.recipients) {
		return errors.Join(refusals...)
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(l.text); err != nil {
		return err
	}
	return w.Close()
}
