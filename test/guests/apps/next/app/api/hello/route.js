export async function GET(request) {
  return Response.json({ hello: request.nextUrl.searchParams.get('name') }, { headers: { 'x-api': 'yes' } })
}

export async function POST(request) {
  const text = await request.text()
  return new Response(text.toUpperCase(), { status: 201 })
}
