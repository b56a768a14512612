// What clients may send, and what they get. Browsers can import this file too.
import { contract, del, get, Problem, patch, post, t } from 'weirjs/client'

export const Note = t.named('Note', t.object({ id: t.int, text: t.string, done: t.bool }))
const Text = t.string.min(1).max(200)

export const api = contract({
  notes: get('/notes', { done: t.bool.optional(), answers: { 200: t.array(Note) } }),
  note: get('/notes/:id', { id: t.int, answers: { 200: Note, 404: Problem } }),
  addNote: post('/notes', { body: t.object({ text: Text }), answers: { 201: Note } }),
  changeNote: patch('/notes/:id', {
    id: t.int,
    body: t.object({ text: Text.optional(), done: t.bool.optional() }),
    answers: { 200: Note, 404: Problem },
  }),
  removeNote: del('/notes/:id', { id: t.int, answers: { 204: null, 404: Problem } }),
})
