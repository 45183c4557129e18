"""The app's entry: `streamlit run streamlit_app.py`, or `uvicorn streamlit_app:app`."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware
from streamlit import config, net_util

from app.security import ClosedRoutes, LogoutGuard, SecurityHeaders
from app.ui.errors import on_script_error
from app.ui.session.login_return import LoginReturn
from app.ui.start import StartScript
from app.ui.uploads import UploadGuard
from app.workbench.models import import_libraries
from app.workbench.parent_process import end_with_parent
from app.workbench.settings import get_settings
from as2core.system.hosts import ANY_ADDRESS, HostGuard, parse_hosts


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Import torch while nobody waits yet; end with `as2 app`, if that is what started the server."""
    end_with_parent()
    threading.Thread(target=import_libraries, name="imports", daemon=True).start()
    yield


# Streamlit would ask other hosts for this machine's addresses, in order to compare them with a foreign Origin
net_util.get_external_ip = net_util.get_internal_ip = lambda: None

hosts = parse_hosts(get_settings().allowed_hosts)
middleware = [
    Middleware(SecurityHeaders),
    Middleware(HostGuard, address=config.get_option("server.address") or ANY_ADDRESS[0], names=hosts),
    Middleware(ClosedRoutes),
    Middleware(LogoutGuard),
    Middleware(LoginReturn, base=config.get_option("server.baseUrlPath")),
    Middleware(UploadGuard),
    Middleware(StartScript),
]
app = st.App("app/main.py", middleware=middleware, lifespan=lifespan, on_script_error=on_script_error)
