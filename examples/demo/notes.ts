// The first program of the README, which the page shows.

import { type HttpServer, t } from 'weirjs'

export function mapNotes(server: HttpServer): void {
  let lastId = 0
  const Note = t.object({ title: t.string, done: t.bool.default(false) })
  server.post('/notes', { body: Note, summary: 'Takes a note, and keeps nothing of it' }, ({ body }) => ({ id: ++lastId, ...body }))
}
