package fiberonce_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/fiberonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

// service is an app with one route, behind the middlewares.
type service struct {
	*conformtest.Service[*conform.Tx]
	t   *testing.T
	url string
}

func newService(t *testing.T, config fiber.Config, h func(c fiber.Ctx, tx *conform.Tx) error, middlewares ...any) *service {
	t.Helper()
	s := &service{Service: conformtest.New(t, httponce.Options{}), t: t}
	app := fiber.New(config)
	for _, middleware := range middlewares {
		app.Use(middleware)
	}
	app.Post("/orders/:id", fiberonce.Handle(s.Door, &onceward.Operation{Name: "order.v1"}, func(c fiber.Ctx, tx *conform.Tx) error {
		if err := tx.Insert("row"); err != nil {
			return err
		}
		return h(c, tx)
	}))
	s.url = listen(t, app)
	return s
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *service) post(contentType string, body io.Reader) answer {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+"/orders/7", body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.GetBody = nil
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", contentType)
	r.Header.Set(httponce.HeaderKey, "k")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(got)}
}

func (s *service) json() answer { return s.post("application/json", strings.NewReader("{}")) }

func (s *service) wantRows(n int) {
	s.t.Helper()
	if got, _ := s.Effects(s.t.Context(), "row"); got != n {
		s.t.Errorf("%d rows, want %d", got, n)
	}
}

func TestFiberAnswersItsErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler func(c fiber.Ctx, tx *conform.Tx) error
		status  int
		body    string
	}{
		"a fiber.Error": {
			func(fiber.Ctx, *conform.Tx) error { return fiber.NewError(409, "sold out") }, 409, "sold out",
		},
		"one with the end of a context": {
			func(fiber.Ctx, *conform.Tx) error {
				return errors.Join(fiber.NewError(504, "bank"), context.DeadlineExceeded)
			},
			504, "bank\ncontext deadline exceeded",
		},
		"after an answer": {
			func(c fiber.Ctx, _ *conform.Tx) error {
				c.Set("Location", "/orders/1")
				return errors.Join(c.Status(201).SendString("done"), fiber.ErrTeapot)
			}, 418, "I'm a teapot",
		},
		"a refusal that is written": {
			func(c fiber.Ctx, _ *conform.Tx) error { return c.Status(422).SendString("no") }, 422, "no",
		},
		"a status": {
			func(c fiber.Ctx, _ *conform.Tx) error { return c.SendStatus(409) }, 409, "Conflict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, fiber.Config{}, c.handler)
			for range 2 {
				got := s.json()
				if got.status != c.status || got.body != c.body {
					t.Errorf("answered %d %q, want %d %q", got.status, got.body, c.status, c.body)
				}
				if got.header.Get("Location") != "" || got.header.Get(httponce.HeaderReplayed) != "" {
					t.Errorf("with %v", got.header)
				}
			}
			s.wantRows(0)
		})
	}
}

// What fasthttp keeps of a form has no order; the same form is the same request all the same.
func TestMultipartFormIsComparedByItsFields(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]fiber.Config{
		"parsed before": {}, "not parsed before": {DisablePreParseMultipartForm: true}, "streamed": {StreamRequestBody: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, config, func(c fiber.Ctx, _ *conform.Tx) error {
				file, err := c.FormFile("file3")
				if err != nil {
					return err
				}
				return c.SendString(fmt.Sprint(c.FormValue("field7"), file.Filename, file.Size))
			})
			contentType, form := someForm(t, 10, "content")
			for i := range 20 {
				got := s.post(contentType, bytes.NewReader(form))
				if got.status != 200 || got.body != "value 7"+"name 3"+"7" || (got.header.Get(httponce.HeaderReplayed) != "") != (i > 0) {
					t.Fatalf("request %d: answered %d %q %v", i, got.status, got.body, got.header)
				}
			}
			contentType, form = someForm(t, 10, "another")
			if got := s.post(contentType, bytes.NewReader(form)); got.status != http.StatusUnprocessableEntity {
				t.Errorf("another file: answered %d %q", got.status, got.body)
			}
			if got := s.post("multipart/form-data; boundary=b", strings.NewReader("--b\r\nbroken")); got.status != http.StatusBadRequest {
				t.Errorf("no form: answered %d %q", got.status, got.body)
			}
			s.wantRows(1)
		})
	}
}

func someForm(t *testing.T, fields int, content string) (contentType string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := range fields {
		part, err := w.CreateFormFile(fmt.Sprint("file", i), fmt.Sprint("name ", i))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, content); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteField(fmt.Sprint("field", i), fmt.Sprint("value ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

// The context is Fiber's: what the handler sets is there afterwards, and middlewares see and change what is answered.
func TestContextIsFibers(t *testing.T) {
	t.Parallel()
	s := newService(t, fiber.Config{ServerHeader: "shop"}, func(c fiber.Ctx, _ *conform.Tx) error {
		c.Locals("order", c.Params("id"))
		c.Cookie(&fiber.Cookie{Name: "order", Value: "first"})
		c.Response().Header.Del("X-Outer")
		return c.SendString(httponce.CallFrom(c.Context()).Key)
	}, func(c fiber.Ctx) error {
		outer := c.Context()
		c.Cookie(&fiber.Cookie{Name: "session", Value: "1"})
		c.Set("X-Outer", "1")
		c.Set("X-Kept", "1")
		err := c.Next()
		if c.Context() != outer || c.Response().StatusCode() != 200 || string(c.Response().Body()) != "k" {
			t.Errorf("after the handler: %d %q", c.Response().StatusCode(), c.Response().Body())
		}
		return err
	})
	for i, want := range [][]string{{"order", "session"}, {"session"}} {
		got := s.json()
		cookies := map[string]bool{}
		for _, line := range got.header.Values("Set-Cookie") {
			name, _, _ := strings.Cut(line, "=")
			cookies[name] = true
		}
		if names := slices.Sorted(maps.Keys(cookies)); got.body != "k" || !slices.Equal(names, want) {
			t.Errorf("answer %d: %q, cookies %q, want %q", i+1, got.body, names, want)
		}
		if got.header.Get("X-Kept") != "1" || got.header.Get("Server") != "shop" || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("answer %d: %v", i+1, got.header)
		}
		if (got.header.Get("X-Outer") == "") != (i == 0) {
			t.Errorf("answer %d: X-Outer is %q", i+1, got.header.Get("X-Outer"))
		}
	}
	s.wantRows(1)
}

func TestStreamedAnswerIsHeld(t *testing.T) {
	t.Parallel()
	size := 1000
	s := newService(t, fiber.Config{}, func(c fiber.Ctx, _ *conform.Tx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(strings.Repeat("s", size)) })
	})
	for _, replayed := range []string{"", "true"} {
		if got := s.json(); len(got.body) != size || got.header.Get(httponce.HeaderReplayed) != replayed {
			t.Errorf("answered %d, %d bytes, %v", got.status, len(got.body), got.header)
		}
	}
	s.wantRows(1)
	size = conform.AnswerBytesMax + 1
	s = newService(t, fiber.Config{}, func(c fiber.Ctx, _ *conform.Tx) error {
		return c.SendStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(strings.Repeat("s", size)) })
	})
	if got := s.json(); got.status != http.StatusInternalServerError || !strings.Contains(got.body, "answer_too_large") {
		t.Errorf("answered %d %q", got.status, got.body)
	}
	s.wantRows(0)
}

func TestStatusWithoutABody(t *testing.T) {
	t.Parallel()
	s := newService(t, fiber.Config{}, func(c fiber.Ctx, _ *conform.Tx) error { c.Status(http.StatusNoContent); return nil })
	for _, replayed := range []string{"", "true"} {
		got := s.json()
		if got.status != http.StatusNoContent || got.header.Get(httponce.HeaderReplayed) != replayed {
			t.Errorf("answered %d %v", got.status, got.header)
		}
	}
	s.wantRows(1)
}

// Fiber's own limit comes first, and claims nothing.
func TestBodyLimitIsFibers(t *testing.T) {
	t.Parallel()
	s := newService(t, fiber.Config{BodyLimit: 100}, func(c fiber.Ctx, _ *conform.Tx) error { return c.SendString("done") })
	if got := s.post("text/plain", strings.NewReader(strings.Repeat(" ", 101))); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("answered %d %q", got.status, got.body)
	}
	if got := s.json(); got.status != http.StatusOK || got.header.Get(httponce.HeaderReplayed) != "" {
		t.Errorf("answered %d %v", got.status, got.header)
	}
}

// What nobody reads of a streamed body is not the connection's next request, as it would be in fasthttp.
func TestBodyThatNobodyReadsIsNoRequest(t *testing.T) {
	t.Parallel()
	s := newService(t, fiber.Config{StreamRequestBody: true, BodyLimit: 10 << 20}, func(c fiber.Ctx, _ *conform.Tx) error {
		return c.Send(c.Body())
	})
	hidden := "POST /orders/7 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nIdempotency-Key: hidden\r\nContent-Length: 2\r\n\r\n{}"
	for name, size := range map[string]int{"little": 100 << 10, "much": 2 << 20} {
		for _, chunked := range []bool{false, true} {
			body := io.Reader(strings.NewReader(strings.Repeat(" ", size) + hidden))
			if chunked {
				body = io.MultiReader(body)
			}
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r, err := http.NewRequest(http.MethodPost, s.url+"/orders/7", body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice") // and no key
			go func() { _ = r.Write(conn) }()             // fails where the server closes the connection early
			from := bufio.NewReader(conn)
			response, err := http.ReadResponse(from, r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: answered %d, %v", name, response.StatusCode, err)
			}
			if next := response.Close; next != (name == "much") {
				t.Errorf("%s: the connection is to be closed: %v", name, next)
			}
			if name == "little" {
				fmt.Fprint(conn, strings.ReplaceAll(hidden, "hidden", "seen"))
				if response, err = http.ReadResponse(from, nil); err != nil || response.StatusCode != http.StatusOK {
					t.Errorf("the next request: %v, %v", response, err)
				}
			}
		}
	}
	s.wantRows(1)
}
