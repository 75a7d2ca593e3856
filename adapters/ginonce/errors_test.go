package ginonce_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/ginonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

type answer struct {
	status int
	header http.Header
	body   string
}

// service is a router with one route, behind the middlewares.
type service struct {
	*conformtest.Service[*conform.Tx]
	t   *testing.T
	url string
}

func newService(t *testing.T, o httponce.Options, h func(c *gin.Context, tx *conform.Tx) error, middlewares ...gin.HandlerFunc) *service {
	t.Helper()
	s := &service{Service: conformtest.New(t, o), t: t}
	router := gin.New()
	router.Use(middlewares...)
	router.POST("/orders", ginonce.Handle(s.Door, &onceward.Operation{Name: "order.v1", Wait: time.Minute},
		func(c *gin.Context, tx *conform.Tx) error {
			if err := tx.Insert("row"); err != nil {
				return err
			}
			return h(c, tx)
		}))
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *service) post() answer {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+"/orders", strings.NewReader("{}"))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set(httponce.HeaderKey, "k")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func (s *service) wantRows(n int) {
	s.t.Helper()
	if got, _ := s.Effects(s.t.Context(), "row"); got != n {
		s.t.Errorf("%d rows, want %d", got, n)
	}
}

// last writes the last error, as an error middleware does.
func last(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 {
		c.JSON(-1, gin.H{"error": c.Errors.Last().Error()})
	}
}

var errSoldOut = errors.New("sold out")

func TestErrors(t *testing.T) {
	t.Parallel()
	known := func(err error) *httponce.Answer {
		if errors.Is(err, errSoldOut) {
			return httponce.Refuse(http.StatusConflict, []byte("known"))
		}
		return nil
	}
	for name, c := range map[string]struct {
		failure func(error) *httponce.Answer
		handler func(c *gin.Context, tx *conform.Tx) error
		alone   answer // without an error middleware
		mapped  answer // with one
	}{
		"returned": {
			nil, func(*gin.Context, *conform.Tx) error { return errSoldOut },
			answer{status: 500},
			answer{status: 500, body: `{"error":"sold out"}`},
		},
		"attached": {
			nil, func(c *gin.Context, _ *conform.Tx) error { _ = c.Error(errSoldOut); return nil },
			answer{status: 500},
			answer{status: 500, body: `{"error":"sold out"}`},
		},
		"attached after a status that says success": {
			nil, func(c *gin.Context, _ *conform.Tx) error { c.Status(201); _ = c.Error(errSoldOut); return nil },
			answer{status: 500},
			answer{status: 500, body: `{"error":"sold out"}`},
		},
		"AbortWithError": {
			nil, func(c *gin.Context, _ *conform.Tx) error { _ = c.AbortWithError(409, errSoldOut); return nil },
			answer{status: 409},
			answer{status: 409, body: `{"error":"sold out"}`},
		},
		"a value that is no JSON": {
			nil, func(c *gin.Context, _ *conform.Tx) error { c.JSON(201, func() {}); return nil },
			answer{status: 500},
			answer{status: 500, body: `{"error":"json: unsupported type: func()"}`},
		},
		"returned, and known": {
			known, func(*gin.Context, *conform.Tx) error { return errSoldOut },
			answer{status: 409, body: "known"},
			answer{status: 409, body: "known"},
		},
		"attached, and known": {
			known, func(c *gin.Context, _ *conform.Tx) error { _ = c.Error(errSoldOut); return nil },
			answer{status: 409, body: "known"},
			answer{status: 409, body: "known"},
		},
		"a written refusal": {
			nil, func(c *gin.Context, _ *conform.Tx) error { c.AbortWithStatusJSON(422, "no"); return nil },
			answer{status: 422, body: `"no"`},
			answer{status: 422, body: `"no"`},
		},
	} {
		for what, middlewares := range map[string][]gin.HandlerFunc{"alone": nil, "mapped": {last}} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				s := newService(t, httponce.Options{Failure: c.failure}, c.handler, middlewares...)
				want := c.alone
				if middlewares != nil {
					want = c.mapped
				}
				for range 2 {
					got := s.post()
					if got.status != want.status || got.body != want.body || got.header.Get(httponce.HeaderReplayed) != "" {
						t.Errorf("answered %d %q, want %d %q", got.status, got.body, want.status, want.body)
					}
				}
				s.wantRows(0)
			})
		}
	}
}

// An error beside an answer that the handler wrote is for the log, as in Gin.
func TestErrorBesideAnAnswerIsKept(t *testing.T) {
	t.Parallel()
	logged := make(chan string, 1)
	s := newService(t, httponce.Options{}, func(c *gin.Context, _ *conform.Tx) error {
		c.String(http.StatusOK, "done")
		_ = c.Error(errSoldOut)
		return nil
	}, func(c *gin.Context) {
		c.Next()
		logged <- fmt.Sprint(c.Errors.Last(), c.Writer.Status(), c.Writer.Size())
	})
	if got := s.post(); got.status != http.StatusOK || got.body != "done" {
		t.Errorf("answered %d %q", got.status, got.body)
	}
	if got := <-logged; got != "sold out 200 4" {
		t.Errorf("the middleware saw %s", got)
	}
	s.wantRows(1)
}

// The duplicates that waited are answered as the first is, with its status.
func TestDuplicatesGetTheAttachedErrorAndItsStatus(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := newService(t, httponce.Options{}, func(c *gin.Context, _ *conform.Tx) error {
		once.Do(func() { close(running) })
		<-release
		_ = c.AbortWithError(http.StatusConflict, errSoldOut)
		return nil
	}, last)
	answers := make(chan answer, 5)
	for range cap(answers) {
		go func() { answers <- s.post() }()
	}
	<-running
	close(release)
	for range cap(answers) {
		if got := <-answers; got.status != http.StatusConflict || got.body != `{"error":"sold out"}` {
			t.Errorf("answered %d %q", got.status, got.body)
		}
	}
	s.wantRows(0)
}

// The context is Gin's: what the handler sets is there afterwards, and its request and writer are those of before.
func TestContextIsGins(t *testing.T) {
	t.Parallel()
	s := newService(t, httponce.Options{}, func(c *gin.Context, _ *conform.Tx) error {
		c.Set("order", c.FullPath())
		c.Writer.Flush()
		if _, _, err := c.Writer.Hijack(); err == nil {
			return errors.New("the connection was handed out")
		}
		c.Status(http.StatusNoContent) // too late
		if c.Writer.Pusher() != nil || c.Writer.CloseNotify() != nil || c.Writer.Status() != http.StatusOK || !c.Writer.Written() {
			return errors.New("another writer")
		}
		_, err := c.Writer.WriteString(httponce.CallFrom(c.Request.Context()).Key)
		return err
	}, func(c *gin.Context) {
		request, writer := c.Request, c.Writer
		c.Next()
		if c.Request != request || c.Writer != writer || c.GetString("order") != "/orders" {
			t.Errorf("after the handler: %v %v %q", c.Request == request, c.Writer == writer, c.GetString("order"))
		}
	})
	if got := s.post(); got.status != http.StatusOK || got.body != "k" {
		t.Errorf("answered %d %q", got.status, got.body)
	}
}

func TestStatusWithoutABody(t *testing.T) {
	t.Parallel()
	s := newService(t, httponce.Options{}, func(c *gin.Context, _ *conform.Tx) error { c.Status(http.StatusNoContent); return nil })
	for _, replayed := range []string{"", "true"} {
		if got := s.post(); got.status != http.StatusNoContent || got.header.Get(httponce.HeaderReplayed) != replayed {
			t.Errorf("answered %d %v", got.status, got.header)
		}
	}
	s.wantRows(1)
}
