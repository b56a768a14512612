// A contract, and handlers for it, for tests that call it from a browser. It imports only what a browser can load.

import { contract, cookie, events, file, get, header, multipart, Problem, post, query, t } from '../../src/modules/client/index.ts'

const User = t.object({ id: t.int, name: t.string })

export const shopContract = contract({
  user: get('/users/:id', { id: t.int, answers: { 200: User, 404: Problem } }),
  order: post('/orders', {
    body: t.object({ name: t.string }),
    tags: t.array(t.string),
    tenant: header('x-tenant', t.string),
    answers: { 201: t.object({ name: t.string, tags: t.array(t.string), tenant: t.string }) },
  }),
  upload: post('/photos', { body: multipart({ fields: { title: t.string }, files: { photo: file() } }) }),
  ticks: get('/ticks', { answers: { 200: events(t.object({ n: t.int })) } }),
  find: query('/find', { body: t.object({ words: t.array(t.string) }), answers: { 200: t.array(t.string) } }),
  theme: get('/theme', { theme: cookie('theme', t.string), answers: { 200: t.string } }),
  fails: get('/fails', { answers: { 200: User } }),
})
