import { openapi } from '@weirjs/openapi'
import { HttpServer, type OutputOf, type ServerOptions } from 'weirjs'
import { csrf } from 'weirjs/csrf'

import { api, type Note } from './contract.ts'

/** The server. Tests make one of their own, and need no port. */
export function createServer(options: ServerOptions = {}): HttpServer {
  const notes = new Map<number, OutputOf<typeof Note>>()
  let lastId = 0

  const server = new HttpServer(options)
  server.use(csrf()) // pages of other sites change nothing
  server.use(openapi({ info: { title: 'Notes', version: '0.1.0' }, ui: '/docs' }))

  server.mapContract(api, {
    notes: ({ done }) => [...notes.values()].filter((note) => done === undefined || note.done === done),
    note: ({ id }, { response }) => notes.get(id) ?? response.notFound(`There is no note ${id}.`),
    addNote({ body }) {
      const note = { id: ++lastId, text: body.text, done: false }
      notes.set(note.id, note)
      return note
    },
    changeNote({ id, body }, { response }) {
      const note = notes.get(id)
      if (note === undefined) return response.notFound(`There is no note ${id}.`)
      const changed = { ...note, text: body.text ?? note.text, done: body.done ?? note.done }
      notes.set(id, changed)
      return changed
    },
    removeNote: ({ id }, { response }) => (notes.delete(id) ? response.noContent() : response.notFound(`There is no note ${id}.`)),
  })
  return server
}
