package differ

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// conn is one connection of one side.
type conn struct {
	net    net.Conn
	write  sync.Mutex
	closed chan struct{} // when reading has ended

	mu      sync.Mutex // guards what follows
	opaque  int32
	waiting map[int32]chan *frame
	inbox   []*frame // requests of the server, and answers nobody waits for
	answers map[int]*frame
}

func dial(addr string) (*conn, error) {
	n, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c := &conn{net: n, closed: make(chan struct{}), waiting: map[int32]chan *frame{}, answers: map[int]*frame{}}
	go c.read()
	return c, nil
}

func (c *conn) close() {
	c.net.Close()
	<-c.closed
}

func (c *conn) read() {
	defer close(c.closed)
	defer c.net.Close()
	r := bufio.NewReader(c.net)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		c.mu.Lock()
		if f.flag&flagResponse != 0 {
			if w := c.waiting[f.opaque]; w != nil {
				delete(c.waiting, f.opaque)
				w <- f
			} else {
				c.inbox = append(c.inbox, f)
			}
			c.mu.Unlock()
			continue
		}
		c.inbox = append(c.inbox, f)
		a := c.answers[f.code]
		c.mu.Unlock()
		if a != nil {
			reply := *a
			reply.opaque, reply.flag = f.opaque, flagResponse
			_ = c.send(reply.encode())
		}
	}
}

func (c *conn) send(b []byte) error {
	c.write.Lock()
	defer c.write.Unlock()
	_, err := c.net.Write(b)
	return err
}

// next returns an opaque that has not been used, and where its answer comes. Without wait the answer goes to the inbox.
func (c *conn) next(wait bool) (int32, chan *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opaque++
	if !wait {
		return c.opaque, nil
	}
	answer := make(chan *frame, 1)
	c.waiting[c.opaque] = answer
	return c.opaque, answer
}

func (c *conn) takeInbox() []*frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.inbox
	c.inbox = nil
	return all
}

func (c *conn) answer(code int, f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers[code] = f
}

var (
	errNoAnswer = errors.New("no answer")
	errClosed   = errors.New("connection closed")
)

// wait waits for an answer.
func (c *conn) wait(answer chan *frame, timeout time.Duration) (*frame, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case f := <-answer:
		return f, nil
	case <-timer.C:
		return nil, errNoAnswer
	case <-c.closed:
	}
	select { // it may have come just before the end
	case f := <-answer:
		return f, nil
	default:
		return nil, errClosed
	}
}
