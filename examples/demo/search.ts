// HTTP QUERY (RFC 10008): safe like GET, with a body like POST. It searches the routes of this server.

import { type HttpServer, json, t } from 'weirjs'

const Search = t.object({ words: t.string.min(1).max(100), methods: t.array(t.string).optional() })

export function mapSearch(server: HttpServer): void {
  server.mapQuery('/routes', { summary: 'Searches the routes of this server', body: json(Search) }, ({ body: { words, methods } }) => {
    const wanted = words.toLowerCase().split(/\s+/)
    return server.routes
      .filter(({ method }) => methods === undefined || methods.includes(method ?? 'any'))
      .filter(({ path }) => wanted.every((word) => path.toLowerCase().includes(word)))
      .map(({ method, path, policies }) => ({ method, path, policies: policies.map(({ name }) => name) }))
  })
}
