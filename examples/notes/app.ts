import { openapi } from '@weirjs/openapi'
import { HttpServer } from 'weirjs'

import { type Note, notes } from './contract.ts'

export function createServer(port = 0) {
  const kept: Note[] = []
  const server = new HttpServer('127.0.0.1', port)
  server.use(openapi({ info: { title: 'Notes', version: '1.0.0' }, ui: '/docs' }))
  server.mapContract(notes, {
    list: ({ search }) => kept.filter(({ title }) => title.includes(search)),
    show: ({ id }, { response }) =>
      kept[id - 1] ?? response.notFound(`There is no note ${id}.`),
    add: ({ body }, { response }) => {
      const note = { id: kept.length + 1, ...body }
      kept.push(note)
      response.header('Location', `/notes/${note.id}`)
      return note
    },
  })
  return server
}
