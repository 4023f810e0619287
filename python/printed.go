package python

import (
	"bufio"
	"fmt"
	"os"

	"github.com/sirupsen/logrus"
)

// maxLine is the most bytes of a printed line that are logged.
const maxLine = 4096

// printed logs what plug-ins of a daemon print.
type printed struct {
	file *os.File // the end that Python writes to
	read *os.File
	done chan struct{}
}

func newPrinted(log logrus.FieldLogger) (*printed, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make the pipe for what Python prints: %w", err)
	}
	p := &printed{file: w, read: r, done: make(chan struct{})}
	go p.follow(log)
	return p, nil
}

func (p *printed) follow(log logrus.FieldLogger) {
	defer close(p.done)
	lines := bufio.NewReaderSize(p.read, maxLine)
	for {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		log.Debugf("Python plug-in printed: %s", line)
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
	}
}

// Close ends the logging, also if a program that a plug-in has started may still print.
func (p *printed) Close() error {
	err := p.read.Close()
	<-p.done
	return err
}
