// A gauge at a river: what a route declares about its body, its parameters and its answers, and what the server does because of it.

import { cookie, file, HttpError, type HttpServer, header, multipart, Problem, t } from 'weirjs'

const MAX_PHOTO_BYTES = 1024 * 1024
const LEVELS = { bridge: 212, mill: 187 }
const REPLACED_ON = new Date('2026-01-01')

const station = t.enum('bridge', 'mill')
const reading = { station, centimetres: t.int.min(0).max(900), note: t.string.max(60).optional() }
const Reading = t.object(reading)
const StoredReading = t.object({ id: t.int, ...reading })
const Photo = multipart({
  fields: { title: t.string.min(1).max(60) },
  files: { photo: file({ maxSize: MAX_PHOTO_BYTES, types: ['image/png', 'image/jpeg'], extensions: ['.png', '.jpg', '.jpeg'] }) },
})

/** As they are stored. What may leave the server is in `Keeper`. */
const KEEPERS = [
  { id: 1, name: 'Ada', station: 'bridge', doorCode: '2718' },
  { id: 2, name: 'Grace', station: 'mill', doorCode: '3141' },
] as const
const Keeper = t.object({ id: t.int, name: t.string, station })

/** Everything below `/gauge`. */
export function mapGauge(server: HttpServer): void {
  const gauge = server.group('/gauge')
  let lastId = 0
  gauge.mapPost('/readings', { summary: 'Stores a reading', body: Reading, answers: { 201: StoredReading } }, ({ body }) => ({
    ...body,
    id: ++lastId,
  }))
  const photo = { summary: 'Checks a form with a picture', body: Photo, maxRequestBodySize: 2 * MAX_PHOTO_BYTES }
  gauge.mapPost('/photos', photo, ({ body: { fields, files } }) => {
    return { title: fields.title, type: files.photo.contentType, bytes: files.photo.content.length }
  })
  gauge.mapPost('/outline', { summary: 'Shows the types in any JSON', body: 'buffer' }, (_, { request }) => ({
    outline: outlineOf(request.bodyJson()),
  }))

  const place = { station: cookie('station', station.default('bridge')), unit: header('X-Unit', t.enum('cm', 'ft').default('cm')) }
  gauge.mapGet('/level', { ...place, summary: 'Shows the level at one place' }, ({ station, unit }) => {
    return { station, unit, level: unit === 'cm' ? LEVELS[station] : Math.round(LEVELS[station] / 3.048) / 10 }
  })
  gauge.mapGet('/levels', { summary: 'Shows all levels, with a tag', etag: true }, () => LEVELS)
  gauge.mapGet('/all-levels', { summary: 'Shows all levels', deprecated: REPLACED_ON }, (_, { response }) => {
    return response.header('Link', '</gauge/levels>; rel="successor-version"').json(LEVELS)
  })

  const shown = { id: t.int, summary: 'Shows a keeper, without secrets', answers: { 200: Keeper, 404: Problem } }
  gauge.mapGet('/keepers/:id', shown, ({ id }, { response }) => {
    return KEEPERS.find((keeper) => keeper.id === id) ?? response.notFound(`There is no keeper ${id}.`)
  })
  mapSluice(server)
}

/** A state that several people change: who sends the tag of an older one does not overwrite a newer one. */
function mapSluice(server: HttpServer): void {
  const sluice = { version: 1, open: 30 }
  const tag = (): string => `v${sluice.version}`
  server.mapGet('/gauge/sluice', { summary: 'Shows the sluice, with a tag' }, (_, { response }) =>
    response.precondition({ etag: tag() }) ? response : sluice,
  )
  const move = { summary: 'Moves the sluice, if nobody else did', body: t.object({ open: t.int.min(0).max(100) }) }
  server.mapPut('/gauge/sluice', move, ({ body: { open } }, { request, response }) => {
    if (request.header('If-Match') === null) throw new HttpError(428, 'Send the tag that you have seen, in If-Match.')
    if (response.precondition({ etag: tag() })) return response
    sluice.version++
    sluice.open = open
    return response.header('ETag', `"${tag()}"`).json(sluice)
  })
}

/** The same value, with the name of a type in the place of each value. */
function outlineOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(outlineOf)
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, outlineOf(inner)]))
}
