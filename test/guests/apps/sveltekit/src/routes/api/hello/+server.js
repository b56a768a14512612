import { json, text } from '@sveltejs/kit'

export const GET = ({ url, getClientAddress }) =>
  json({ hello: url.searchParams.get('name'), address: getClientAddress() }, { headers: { 'x-api': 'yes' } })

export const POST = async ({ request }) => text((await request.text()).toUpperCase(), { status: 201 })
