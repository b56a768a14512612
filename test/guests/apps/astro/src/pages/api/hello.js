export const GET = ({ url, clientAddress }) =>
  Response.json({ hello: url.searchParams.get('name'), address: clientAddress }, { headers: { 'x-api': 'yes' } })

export const POST = async ({ request }) => new Response((await request.text()).toUpperCase(), { status: 201 })
