# docker build -t as2-workbench . && docker run -p 127.0.0.1:8501:8501 -v as2:/data as2-workbench
FROM python:3.11-slim

# A CPU build of torch. For a GPU: --build-arg TORCH=torch==2.13.0, and run with --gpus all.
ARG TORCH="torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu"

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
RUN useradd --create-home --uid 1000 as2 && install --directory --owner=as2 /data
WORKDIR /workbench

# What changes seldom comes first: an edit of the code does not install the libraries again.
COPY pyproject.toml requirements-container.txt README.md LICENSE ./
COPY as2core/__init__.py as2core/
# hadolint ignore=DL3013,SC2086
RUN pip install $TORCH \
 && pip install --require-hashes --no-deps -r requirements-container.txt \
 && pip install --no-deps --no-build-isolation -e . \
 && pip check
COPY . .

USER 1000
ENV AS2_HOME=/data STREAMLIT_SERVER_ADDRESS=0.0.0.0 HF_HUB_OFFLINE=1
VOLUME /data
EXPOSE 8501
HEALTHCHECK --start-period=60s --interval=15s CMD ["python", "-c", \
  "import os, urllib.request as r; base = os.getenv('STREAMLIT_SERVER_BASE_URL_PATH', '').strip('/'); \
r.urlopen('http://127.0.0.1:8501' + os.path.join('/', base, '_stcore/health'), timeout=5)"]
CMD ["as2", "app"]
