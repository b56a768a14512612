// What clients may send, and what they get. The server and its clients share this file.
import type { OutputOf } from 'weirjs'
import { contract, get, Problem, post, t } from 'weirjs/client'

const NewNote = t.object({
  title: t.string.min(1).max(100),
  text: t.string.default(''),
})
const Note = t.named('Note', t.object({ id: t.int, title: t.string, text: t.string }))
export type Note = OutputOf<typeof Note>

export const notes = contract({
  list: get('/notes', {
    search: t.string.default(''),
    answers: { 200: t.array(Note) },
  }),
  show: get('/notes/:id', { id: t.int, answers: { 200: Note, 404: Problem } }),
  add: post('/notes', { body: NewNote, answers: { 201: Note } }),
})
